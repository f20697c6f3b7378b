"""Files as the profiler leaves them in the folder of a run."""

from __future__ import annotations

from pathlib import Path

from ganboard.worker.context import Context


def put_trace(context: Context, run_id: str) -> Path:
    """One trace; returns its folder."""
    run_dir = context.settings.run_dir(run_id)
    folder = run_dir / "tensorboard" / "plugins" / "profile" / "2026_11_27_08_52_43"
    folder.mkdir(parents=True)
    (folder / "box.xplane.pb").write_bytes(b"xplane")
    (folder / "box.trace.json.gz").write_bytes(b"timeline")
    (folder / "box.SSTABLE").write_bytes(b"a cache of TensorBoard")
    return folder
