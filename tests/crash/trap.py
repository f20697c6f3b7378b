"""A trainer that meets its fate at a named point: `python -m tests.crash.trap RUN ATTEMPT VERDICT`,
in place of `worker.training.trainer`.

The variable TRAPS holds a JSON list; its entry of this attempt, "function:nth:before" or
"function:nth:after" with an optional ":hang" or ":freeze", says where. The function is named with
its module, and the default fate is SIGKILL, as a lost machine would have it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from functools import wraps
from typing import Any

TRAPS = "GANBOARD_TEST_TRAPS"


def fate(kind: str) -> None:
    print(f"trapped: {kind}", file=sys.stderr, flush=True)
    if kind == "hang":
        time.sleep(3600)
    os.kill(os.getpid(), signal.SIGSTOP if kind == "freeze" else signal.SIGKILL)


def arm(trap: str) -> None:
    """Wrap the function so that its nth call ends in `fate`. Fails if there is no such function."""
    name, nth, when, *kind = trap.split(":")
    owner, attribute = _owner(name)
    function, calls = getattr(owner, attribute), 0

    @wraps(function)
    def trapped(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        mine = calls == int(nth)
        if mine and when == "before":
            fate(*kind or ["kill"])
        result = function(*args, **kwargs)
        if mine and when == "after":
            fate(*kind or ["kill"])
        return result

    setattr(owner, attribute, trapped)


def _owner(name: str) -> tuple[Any, str]:
    """The module or class that holds the function."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            owner: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:-1]:
            owner = getattr(owner, part)
        return owner, parts[-1]
    raise LookupError(name)


if __name__ == "__main__":
    from ganboard.worker.training import trainer

    traps = json.loads(os.environ.get(TRAPS, "[]"))
    attempt = int(sys.argv[2])
    if attempt <= len(traps) and traps[attempt - 1]:
        arm(traps[attempt - 1])
    sys.exit(trainer.main())
