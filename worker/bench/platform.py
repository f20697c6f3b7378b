"""The platform as a candidate: a real `ganboard up` in a temporary HOME trains real runs, with
database, grids and checkpoints."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ganboard.db.errors import NotAllowed
from ganboard.db.models import ENDED, Run
from ganboard.db.runs import commands, queries
from ganboard.db.settings import PREFIX, Settings
from ganboard.gan.config import RunConfig
from ganboard.worker.bench.candidates import BenchmarkError
from ganboard.worker.context import Context, open_context
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.submission.submit import submit

READY_SECONDS = 120.0
POLL_SECONDS = 1.0  # rarely, since polling takes time from the trainer


class Platform:
    """Redis, dashboard, one worker and SQLite, until `end`."""

    def __init__(self, home: Path, data_dir: Path) -> None:
        """Start them and wait until a worker is running. Raises BenchmarkError."""
        # what the caller's own ganboard uses must not be touched
        settings = Settings(
            home=home,
            data_dir=data_dir,
            database_url="",
            database_password="",
            redis_url="",
            redis_password="",
        )
        self._context = open_context(settings)
        environment = {
            name: value
            for name, value in environment_for_child().items()
            if not name.startswith(PREFIX) or "PARENT" in name
        }
        environment |= {f"{PREFIX}HOME": str(home), f"{PREFIX}DATA_DIR": str(data_dir)}
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        up = [
            sys.executable,
            "-c",
            "from ganboard.worker.cli.main import app; app(prog_name='ganboard')",
            "up",
            "--no-starter",
            "--port",
            str(port),
        ]
        log = home / "up.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ganboard.worker.process.exec_tied", *up],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        deadline = time.monotonic() + READY_SECONDS
        while "Open http" not in (said := log.read_text(errors="replace")):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.end()
                raise BenchmarkError(f"failed: ganboard up did not start: {said.strip()[-300:]}")
            time.sleep(0.1)

    @property
    def context(self) -> Context:
        return self._context

    def train(self, config: RunConfig) -> tuple[float, int]:
        """Seconds between the ends of a run's first and last epoch, and the images of all epochs
        but the first. Raises BenchmarkError."""
        run = self.finish(config)
        if run.status != "finished":
            raise BenchmarkError(f"failed: {run.status}")
        first, *others = queries.epochs(self._context.engine, run.id)
        return (others[-1].finished_at - first.finished_at).total_seconds(), sum(
            epoch.images for epoch in others
        )

    def finish(self, config: RunConfig, enough: Callable[[str], bool] | None = None) -> Run:
        """A new run when it has ended: by itself, or stopped once `enough(run id)`. Raises
        BenchmarkError when it failed."""
        engine, stopped = self._context.engine, False
        run_id = submit(self._context, config).id
        while True:
            run = queries.get_run(engine, run_id)
            assert run is not None
            if run.status in ENDED:
                break
            if enough and not stopped and enough(run_id):
                with suppress(NotAllowed):  # it has ended by itself meanwhile
                    commands.request_stop(engine, run_id=run_id)
                stopped = True
            time.sleep(POLL_SECONDS)
        if run.status == "failed":
            raise BenchmarkError(f"failed: {run.error}")
        return run

    def end(self) -> None:
        """As Ctrl-C does: every process of it ends."""
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGINT)
            self._process.wait()
        self._context.engine.dispose()
