"""Memory of this process, with the standard library alone: the benchmark's peers import it too."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path


def peak_resident() -> int:
    """Highest resident memory of this process so far, in bytes.

    Of Linux it is VmHWM, proc(5); elsewhere what getrusage says, which on Linux would begin with
    the memory of the process that started this one.
    """
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
