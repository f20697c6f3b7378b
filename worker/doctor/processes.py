"""What runs on this machine: the supervisor, its port, and workers that hold their slot."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import psutil
from sqlalchemy import Engine

from ganboard.db import heartbeats
from ganboard.db.settings import Settings
from ganboard.worker.doctor.check import Check
from ganboard.worker.process.machine import held, up_lock

PORT = 8501  # default; up.lock has the actual one


def supervisor(settings: Settings) -> Iterator[Check]:
    """Whether `ganboard up` runs, answers, and could be started again."""
    lock = up_lock(settings)
    said = lock.read_text(errors="replace").strip()[:100] if lock.is_file() else ""
    address = said if said.startswith("http://") else ""
    port = urlsplit(address).port or PORT
    if lock.is_file() and held(lock):
        if address and not _answers(address):
            yield Check(
                "up",
                "warn",
                f"it is running, but does not respond at {address}",
                f"Check {settings.state / 'logs' / 'web.log'}",
            )
        else:
            yield Check("up", "ok", f"runs{' at ' + address if address else ''}")
        return
    if said:
        yield Check(
            "up",
            "ok",
            "not running; a previous one was killed and left its up.lock, which is harmless",
        )
    if owner := _listener(port):
        yield Check(
            "port",
            "warn",
            f"port {port} is in use by {owner}",
            "Stop that program, or use another port: `ganboard up --port PORT`",
        )


def slots(settings: Settings, engine: Engine) -> Iterator[Check]:
    """Workers whose process lives here without a heartbeat in the database."""
    alive = {state.worker.name for state in heartbeats.workers(engine) if state.alive}
    for path in sorted((settings.state / "workers").glob(f"{socket.gethostname()}-*:*.lock")):
        if path.stem not in alive and held(path):
            remedy = (
                "It hangs, is starting, or uses another database. Check its log, then restart it."
            )
            yield Check(
                f"slot {path.stem}", "warn", "its process exists but sends no heartbeat", remedy
            )


def _answers(address: str) -> bool:
    try:
        # up.lock's own http address
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=3) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:
        return False


def _listener(port: int) -> str | None:
    """The process that listens on a port of this machine, or None."""
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("127.0.0.1", port)):
            return None
    try:
        for one in psutil.net_connections("tcp"):
            if (
                one.status == psutil.CONN_LISTEN
                and one.laddr
                and one.laddr.port == port
                and one.pid
            ):
                return f"{psutil.Process(one.pid).name()} (process {one.pid})"
    except psutil.Error:
        pass
    return "another program"
