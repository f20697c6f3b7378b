"""A small fleet under `ganboard up` that soaks strike: its processes, its runs, and what was asked
of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from redis import Redis
from sqlalchemy.exc import OperationalError

from ganboard.db.errors import NotAllowed
from ganboard.db.models import ENDED, Run
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker import removal
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import redis_server
from ganboard.worker.submission import submit
from tests.crash import checker, models
from tests.polling import wait_until
from tests.processes import below
from tests.up import free_port

RECOVERY = 180.0
WORKERS = 3
WAITING = 2  # runs that are kept in the queue
KEPT = 4  # finished runs
SMALL = {
    "dataset": "digits",
    "limit": 256,
    "batch_size": 32,
    "grid_size": 2,
    "epochs": 24,
    "keep_checkpoints": 2,
    "snapshots": 2,
}
KINDS: dict[str, dict[str, Any]] = {
    "plain": SMALL,
    "fit, accumulating": SMALL | {"loop": "fit", "accumulate": 2, "seed": 1},
    "two replicas, cyclic rates": (
        SMALL | {"strategy": "mirrored", "replicas": 2, "schedule": "cyclic", "seed": 2}
    ),
    "two processes": SMALL | {"strategy": "multi_worker", "replicas": 2, "epochs": 12, "seed": 3},
    "bfloat16, averaged": SMALL | {"precision": "mixed_bfloat16", "ema": 0.99, "seed": 4},
    "3DGAN": models.SETTINGS["gan3d"] | {"epochs": 6, "keep_checkpoints": 2},
    "pix2pix": models.SETTINGS["pix2pix"] | {"epochs": 6},
}


@contextmanager
def no_process_left() -> Iterator[None]:
    """The soak itself reads a database that it locks, fills and kills."""
    with suppress(OperationalError):
        yield


@dataclass
class Fleet:
    """`ganboard up` on a home, and what was asked of it."""

    home: Path
    random: random.Random
    port: int = field(default_factory=free_port)
    golden: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # by kind
    runs: dict[str, str] = field(default_factory=dict)  # kind by run
    up: psutil.Process | None = None
    violations: list[str] = field(default_factory=list)  # of runs that are deleted
    deleted: list[int] = field(default_factory=list)  # the attempts of each

    def __post_init__(self) -> None:
        os.environ |= {
            "GANBOARD_HOME": str(self.home),
            "GANBOARD_DATA_DIR": str(self.home / "data"),
        }
        self.context: Context = open_context()
        models.settings("pix2pix", self.context.settings.data)

    # --- the fleet ---

    def start(self) -> None:
        log = (self.home / "up.log").open("a")
        command = [
            str(Path(sys.executable).with_name("ganboard")),
            "up",
            "--no-starter",
            "--port",
            str(self.port),
            "--workers",
            str(WORKERS),
        ]
        with log:
            self.up = psutil.Process(
                subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT).pid
            )
        wait_until(self.serves, seconds=RECOVERY, every=0.2, what="the dashboard")

    def serves(self) -> bool:
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/health", timeout=5) as answer,
        ):
            return answer.status == 200
        return False

    def stop(self) -> None:
        assert self.up is not None
        self.up.send_signal(signal.SIGINT)
        self.up.wait(120)

    def processes(self, words: str) -> list[psutil.Process]:
        """Those below the supervisor whose command line contains `words`."""
        assert self.up is not None
        return below(self.up, words)

    def any(self, words: str) -> psutil.Process:
        return self.random.choice(
            wait_until(
                lambda: self.processes(words),
                seconds=RECOVERY,
                every=0.2,
                what=f"a process of {words}",
            )
        )

    def redis(self) -> Redis:
        return Redis(
            unix_socket_path=str(redis_server.socket_path(self.context.settings)), socket_timeout=5
        )

    # --- the runs ---

    def submit(self) -> None:
        kind = self.random.choice(list(KINDS))
        run = submit.submit(self.context, load("tiny", KINDS[kind]), name=kind)
        self.runs[run.id] = kind

    def feed(self) -> None:
        """Keep every worker busy."""
        waiting = sum(run.status not in ENDED for run in self.known())
        for _ in range(WORKERS + WAITING - waiting):
            self.submit()

    def known(self) -> list[Run]:
        with no_process_left():
            return queries.get_runs(self.context.engine, list(self.runs))
        return []

    def expected(self) -> checker.Expected:
        golden = {run_id: self.golden[kind] for run_id, kind in self.runs.items()}
        return checker.Expected(
            dict.fromkeys(self.runs, ("finished",)), golden=golden, ports=(self.port,)
        )

    def tidy(self) -> None:
        """Check and delete all finished runs but the newest: the disk is small."""
        finished = [run for run in self.known() if run.status == "finished"]
        for run in sorted(finished, key=lambda run: run.ended_at or run.created_at)[:-KEPT]:
            self.violations += checker.check_run(
                self.context.engine, self.context.settings, run, self.expected()
            )
            removal.remove(self.context, run.id)
            del self.runs[run.id]
            self.deleted.append(run.attempt)

    def steps(self) -> dict[str, tuple[int, str]]:
        return {run.id: (run.step, run.status) for run in self.known()}

    def again(self) -> None:
        """What a person does with runs that were stopped, or that died too often: resume."""
        for run in self.known():
            if run.status in ("stopped", "failed"):
                with suppress(NotAllowed, OperationalError):
                    submit.resume(self.context, run.id)
