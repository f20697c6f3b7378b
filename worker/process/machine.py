"""Which machine this is: a random name in HOME, shared by all processes that share these files.

Names of workers and rows of checkpoints carry it, since host names may be equal. Hosts that share
HOME are one machine: what counts is who can read the files. A copy of HOME is another machine. It
is noticed in two ways:

- the file records its own inode number, which a copy and a move to another disk change, but a
rename and a shared mount do not;
- a worker that is alive under our name holds its slot's lock in its HOME (`worker/queue/slots.py`):
if that lock is free in ours, its HOME is
  another one, such as that of a cloned disk, which keeps inode numbers.

See docs/reliability.md for the limits.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Engine

from ganboard.db import heartbeats
from ganboard.db.ids import new_id
from ganboard.db.models import Worker
from ganboard.db.settings import Settings
from ganboard.gan import files

FILE, LOCK = "machine.json", "machine.lock"
RANDOM_CHARACTERS = 8
WATCH_SECONDS = 8.0  # more than two heartbeats of a worker
POLL_SECONDS = 0.2
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def name(settings: Settings) -> str:
    """The name of this machine, such as `box-ab12cd34`: made at first use. Raises OSError when HOME
    cannot be written."""
    known = recorded(settings)
    return known if known is not None else _make(settings)


def recorded(settings: Settings) -> str | None:
    """The name as HOME has it; None when there is none yet, or when HOME is a copy. Changes
    nothing. Raises OSError."""
    try:
        with (settings.state / FILE).open("rb") as file:
            said = json.loads(file.read(1000))
            own_inode = os.fstat(file.fileno()).st_ino
        return str(said["name"]) if said["inode"] == own_inode else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def renew(settings: Settings, old: str) -> str:
    """Another name, instead of `old`, which belongs to the HOME that this one was copied from."""
    return _make(settings, old)


def boot() -> str | None:
    """Unique id of this boot of the kernel; None if unavailable."""
    with suppress(OSError):
        return _BOOT.read_text().strip()
    return None


def original(settings: Settings, engine: Engine) -> Worker | None:
    """A running worker of the HOME that this one was copied from. The last heartbeats of killed
    workers of this HOME look the same for some seconds, so workers of another boot are watched
    until they send a heartbeat or time out.
    """
    machine, kernel = name(settings), boot()
    suspects = {
        state.worker.name: state.worker.heartbeat_at
        for state in heartbeats.workers(engine)
        if state.alive
        and state.worker.machine == machine
        and state.worker.boot != kernel
        and not _slot_held(settings, state.worker.name)
    }
    deadline = time.monotonic() + WATCH_SECONDS
    while suspects and time.monotonic() < deadline:
        for state in heartbeats.workers(engine):
            if (
                state.worker.name in suspects
                and state.worker.heartbeat_at != suspects[state.worker.name]
            ):
                return state.worker
        time.sleep(POLL_SECONDS)
    return None


def up_lock(settings: Settings) -> Path:
    """The file that `ganboard up` locks for as long as it runs, and writes its address into."""
    return settings.state / "up.lock"


def slot_lock(settings: Settings, worker: str) -> Path:
    """The file that the worker of this name locks for as long as it lives."""
    return settings.state / "workers" / f"{worker}.lock"


def held(path: Path) -> bool:
    """Whether the lock on this file is held; creates the file."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, blocking=False):
            return False
    except Timeout:
        return True


def _slot_held(settings: Settings, worker: str) -> bool:
    path = slot_lock(settings, worker)
    return path.exists() and held(path)


def _make(settings: Settings, old: str | None = None) -> str:
    """A new name in HOME, unless another process has just made one that is not `old`."""
    from filelock import FileLock

    with FileLock(settings.state / LOCK, mode=0o600):
        known = recorded(settings)
        if known not in (None, old):
            return known
        made = f"{socket.gethostname()}-{new_id()[:RANDOM_CHARACTERS]}"
        with files.whole_file(settings.state / FILE, mode=0o600) as file:
            document = {"name": made, "inode": os.fstat(file.fileno()).st_ino}
            file.write(json.dumps(document).encode() + b"\n")
        return made
