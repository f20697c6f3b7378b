"""Names for the workers of a machine that return when their bearers die."""

from __future__ import annotations

import fcntl
import logging
import socket
from typing import IO

from sqlalchemy import Engine

from ganboard.db.settings import Settings
from ganboard.worker.process import machine

log = logging.getLogger("ganboard.worker")


def join(settings: Settings, engine: Engine) -> tuple[str, IO[str]]:
    """`take_slot` on the machine that this is; a copy of another machine's HOME gets a name of its
    own first."""
    if (twin := machine.original(settings, engine)) is not None:
        old = machine.name(settings)
        log.warning(
            "GANBOARD_HOME is a copy of one that is in use by worker %s (process %d on %s). This"
            " machine is now named %s instead of %s.",
            twin.name,
            twin.pid,
            twin.host,
            machine.renew(settings, old),
            old,
        )
    return take_slot(settings)


def take_slot(settings: Settings) -> tuple[str, IO[str]]:
    """A name that is ours as long as the returned file stays open: host-ab12cd34:1,
    host-ab12cd34:2, ...

    The name returns when a worker dies, so its successor knows at once that the runs under that
    name have no worker. Hosts that share HOME share the locks, and have names of their own;
    machines with equal host names differ in what is behind the dash.
    """
    (settings.state / "workers").mkdir(exist_ok=True)
    prefix = names_here(settings)
    slot = 0
    while True:
        slot += 1
        name = f"{prefix}{slot}"
        file = machine.slot_lock(settings, name).open("w")
        try:
            # not filelock: a forked work-horse shares this descriptor, and with it the name
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        return name, file


def names_here(settings: Settings) -> str:
    """What the names of workers of this HOME on this host begin with."""
    random = machine.name(settings).rpartition("-")[2]
    return f"{socket.gethostname()}-{random}:"
