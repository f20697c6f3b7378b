"""The kernel ends a child with its parent, so that no run is left without an owner."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
PARENT = "GANBOARD_PARENT_PID"


def die_with_parent(parent: int, sig: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send `sig` to this process when process `parent` ends; end at once if it
    already has.

    prctl(2), PR_SET_PDEATHSIG. The signal follows the parent's *thread*, so parents must start
    children from their main thread.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(sig), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(128 + sig)


def environment_for_child(**extra: str) -> dict[str, str]:
    """This process's environment plus what `die_with_named_parent` reads in the child."""
    return {**os.environ, PARENT: str(os.getpid()), **extra}


def die_with_named_parent(sig: signal.Signals = signal.SIGKILL) -> None:
    """`die_with_parent` for a process that was started with `environment_for_child`; nothing for
    any other."""
    parent = os.environ.pop(PARENT, "")
    if parent:
        die_with_parent(int(parent), sig)
