"""Names for the workers of a machine that return when their bearers die."""

from __future__ import annotations

import fcntl
import socket
from pathlib import Path
from typing import IO

from db.settings import Settings


def take_slot(settings: Settings) -> tuple[str, IO[str]]:
    """A name that is ours as long as the returned file stays open: host:1, host:2, ...

    The name returns when a worker dies, so its successor knows at once that the runs under that name have no worker.
    """
    directory = settings.state / "workers"
    directory.mkdir(exist_ok=True)
    slot = 0
    while True:
        slot += 1
        name = f"{socket.gethostname()}:{slot}"
        file = Path(directory / f"{name}.lock").open("w")  # noqa: SIM115  # held open for life
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        return name, file
