"""`python -m ganboard.gan.rehearsal.lowering_process`: lowers steps on request, in a process of its
own, since it loads TensorFlow. One JSON document per line on stdin and on stdout."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from ganboard.gan.config import ConfigError, parse
from ganboard.gan.devices import runtime

_REASON = 300  # characters


def main() -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # lowering is the CPU's, whatever else is here
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    runtime.prepare(parse({}))
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Programs of a step as files in the folder that was asked for, or the reason why there are
    none."""
    from ganboard.gan.rehearsal import lowering

    folder = Path(asked["folder"])
    programs = []
    try:
        config = parse(asked["config"])
        layers = lowering.layers(config, asked["kind"])
        for number, program in enumerate(lowering.lower(config, asked["kind"], asked["form"])):
            path = folder / f"{number}.hlo"
            path.write_bytes(program.hlo)
            programs.append({"name": program.name, "calls": program.calls, "hlo": str(path)})
    except ConfigError as error:
        return {"reason": str(error)}
    # TensorFlow raises kinds of its own for what has no XLA kernel, and a model may raise any
    except Exception as error:
        return {"reason": f"TensorFlow cannot lower the step: {_sentence(error)}"}
    return {"programs": programs, "layers": layers}


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:_REASON].rstrip(". ") + "."


if __name__ == "__main__":
    main()
