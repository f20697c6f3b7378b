"""What may happen to a fleet: each fault returns when it is over; what it strikes is gone, frozen
or full meanwhile."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import psutil
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from ganboard.db.errors import NotAllowed
from ganboard.db.models import ACTIVE
from ganboard.worker.submission import submit
from tests.crash.soak.fleet import Fleet


def kill(
    words: str, *, group: bool = False, sig: signal.Signals = signal.SIGKILL
) -> Callable[[Fleet], None]:
    def fault(fleet: Fleet) -> None:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            process = fleet.any(words)
            os.killpg(os.getpgid(process.pid), sig) if group else process.send_signal(sig)

    return fault


def kill_horse(fleet: Fleet) -> None:
    with suppress(psutil.NoSuchProcess):
        parent = fleet.any("ganboard.worker.training.trainer").parent()
        if parent is not None:
            parent.kill()


def freeze(words: str, low: float, high: float) -> Callable[[Fleet], None]:
    def fault(fleet: Fleet) -> None:
        with suppress(psutil.NoSuchProcess):
            process = fleet.any(words)
            process.suspend()
            time.sleep(fleet.random.uniform(low, high))
            process.resume()

    return fault


def forget_queue(fleet: Fleet) -> None:
    with fleet.redis() as redis:
        redis.flushall()


def tear_log(fleet: Fleet) -> None:
    """Redis dies, and its log loses its tail or gains rubbish, as after a power cut."""
    fleet.any("redis.sock").kill()
    for path in sorted((fleet.home / "redis").rglob("*.aof"))[-1:]:
        data = path.read_bytes()
        cut = fleet.random.randrange(len(data) + 1)
        path.write_bytes(data[:cut] + fleet.random.randbytes(fleet.random.choice((0, 50))))


def lock(fleet: Fleet) -> None:
    with (
        suppress(OperationalError),
        fleet.context.engine.execution_options(sqlite_lock="EXCLUSIVE").begin() as connection,
    ):
        connection.execute(text("SELECT 1"))
        time.sleep(fleet.random.uniform(2, 14))


def fill_disk(fleet: Fleet) -> None:
    if not os.path.ismount(fleet.home):
        return
    path = fleet.home / "filler"
    with suppress(OSError), path.open("wb") as file:
        while True:
            file.write(bytes(1 << 20))
            file.flush()
    with suppress(OSError), path.open("ab") as file:
        while True:
            file.write(b"x")
            file.flush()
    time.sleep(fleet.random.uniform(5, 20))
    path.unlink()


def change_mind(fleet: Fleet) -> None:
    """A person stops a run and resumes it."""
    active = [run for run in fleet.known() if run.status in ACTIVE]
    if active:
        run = fleet.random.choice(active)
        with suppress(NotAllowed, OperationalError):
            submit.stop(fleet.context, run.id)


def kill_everything(fleet: Fleet) -> None:
    """The supervisor dies without a word, and somebody starts it again."""
    assert fleet.up is not None
    below = fleet.up.children(recursive=True)
    fleet.up.kill()
    _, left = psutil.wait_procs(below, timeout=60)
    assert not left, f"{left} still run after the supervisor"
    fleet.start()


def restart(fleet: Fleet) -> None:
    """An orderly end, as of a deploy."""
    fleet.stop()
    fleet.start()


FAULTS: dict[str, tuple[Callable[[Fleet], None], int]] = {  # with a weight each
    "kill trainer": (kill("ganboard.worker.training.trainer"), 4),
    "kill work-horse": (kill_horse, 2),
    "kill trainer's group": (kill("ganboard.worker.training.trainer", group=True), 2),
    "kill worker": (kill("ganboard.worker.queue.rq_worker"), 3),
    "end worker (SIGTERM)": (kill("ganboard.worker.queue.rq_worker", sig=signal.SIGTERM), 2),
    "end trainer (SIGTERM)": (kill("ganboard.worker.training.trainer", sig=signal.SIGTERM), 1),
    "kill Redis": (kill("redis.sock"), 2),
    "tear Redis's log": (tear_log, 1),
    "forget the queue": (forget_queue, 2),
    "kill web": (kill("ganboard.app.web.serve"), 1),
    "kill inference worker": (kill("ganboard.worker.requests.inference_worker"), 1),
    "freeze trainer": (freeze("ganboard.worker.training.trainer", 2, 40), 2),
    "freeze worker": (freeze("ganboard.worker.queue.rq_worker", 2, 30), 1),
    "freeze Redis": (freeze("redis.sock", 1, 15), 1),
    "lock the database": (lock, 2),
    "fill the disk": (fill_disk, 1),
    "stop and resume": (change_mind, 1),
    "kill everything": (kill_everything, 1),
    "restart": (restart, 1),
}
