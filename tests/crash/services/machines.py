"""Machines that share a database and a queue, but no files: workers with HOMEs of their own on this
one host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.db.settings import Settings
from ganboard.worker.context import Context
from ganboard.worker.process import redis_server
from ganboard.worker.process.parent_death import environment_for_child
from tests.polling import wait_until

WORKER = "ganboard.worker.queue.rq_worker"
SHORT_WORKER = "tests.crash.short_trainer"  # its runs take no time


@dataclass
class Machine:
    """A HOME and its worker."""

    home: Path
    variables: dict[str, str]
    worker: psutil.Process | None = None
    settings: Settings = field(init=False)

    def __post_init__(self) -> None:
        self.settings = Settings(home=self.home)
        self.home.mkdir(exist_ok=True)

    @property
    def log(self) -> str:
        return (self.home / "worker.log").read_text()

    def start(self, module: str = WORKER) -> None:
        variables = {**environment_for_child(), **self.variables, "GANBOARD_HOME": str(self.home)}
        with (self.home / "worker.log").open("ab") as log:
            self.worker = psutil.Popen(
                [sys.executable, "-m", module], stdout=log, stderr=log, env=variables
            )

    def kill(self) -> None:
        """kill -9 of all its processes at once, as when the machine loses power."""
        assert self.worker is not None
        for process in [self.worker, *self.worker.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.worker.wait(20)

    def end(self) -> None:
        if self.worker is not None and self.worker.is_running():
            self.worker.send_signal(signal.SIGTERM)
            self.worker.wait(60)


@contextmanager
def machines(
    context: Context, folder: Path, *names: str, **variables: str
) -> Iterator[list[Machine]]:
    """Machines with the database of `context` and a redis-server of their own, none of them
    started."""
    shared = {
        "GANBOARD_DATABASE_URL": context.settings.database,
        "GANBOARD_REDIS_URL": redis_server.socket_url(context.settings),
        **variables,
    }
    made = [Machine(folder / name, shared) for name in names]
    command = redis_server.command(context.settings)
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env=environment_for_child()
    ) as server:
        try:
            socket = str(redis_server.socket_path(context.settings))
            wait_until(lambda: os.path.exists(socket), seconds=20, what="redis-server's socket")
            yield made
        finally:
            for machine in made:
                machine.end()
            server.kill()


def stored(context: Context, run: Run) -> Run:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found


def texts(context: Context, run: Run) -> list[str]:
    """The words of the run's events, oldest first."""
    return [event.text for event in queries.events(context.engine, run.id, limit=None)][::-1]
