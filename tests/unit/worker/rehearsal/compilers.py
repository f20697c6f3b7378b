"""A compiler that answers at once: it takes jobs as `worker.rehearsal.aot` does and says what its
test wants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[2] / "gan" / "rehearsal" / "v5e-4.hlo.gz"
RESULT = {
    "compiler": "stand-in",
    "arguments": 30_000_000,
    "temporaries": 200_000_000,
    "outputs": 1_000,
    "code": 20_000_000,
    "compile_seconds": 0.1,
}
SCRIPT = """
import json, os, shutil, sys, time
from pathlib import Path
job = json.loads(Path(sys.argv[1]).read_text())
result = Path(job["cache"]) / "result.json"
{act}
shutil.copy({program!r}, result.with_suffix(".hlo.gz"))
result.write_text(json.dumps({result!r}))
print(result)
"""


def stand_in(folder: Path, act: str = "", **changes: Any) -> Path:
    """The script of such a compiler; `act` is Python that runs before the answer."""
    path = folder / "compiler.py"
    path.write_text(SCRIPT.format(act=act, program=str(PROGRAM), result={**RESULT, **changes}))
    return path


def lowered(folder: Path) -> dict[str, Any]:
    """What the lowering process answers for a step of one program."""
    hlo = folder / "0.hlo"
    hlo.write_bytes(b"")
    return {
        "programs": [{"name": "update of D and G", "calls": 1, "hlo": str(hlo)}],
        "layers": {"generator": ["up_1", "dense"]},
    }
