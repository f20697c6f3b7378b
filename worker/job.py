"""The one function that the queue may call: claim the run, start its trainer, and say what became of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import IO

from db import commands, queries
from db.engine import make_engine
from db.errors import DbError, LeaseLost
from db.models import ACTIVE
from db.settings import Settings
from worker.context import Context
from worker.errors import QueueUnreachable
from worker.lifeline import PARENT, die_with_parent, environment_for_child
from worker.queue import ring

WORKER = "GANBOARD_WORKER_NAME"  # set by the worker before it forks


def train(run_id: str) -> None:
    """Runs in the work-horse. A repeated or stale ring finds nothing to claim and returns."""
    die_with_parent(int(os.environ[PARENT]))
    settings = Settings()
    engine = make_engine(settings.database, pooled=False)  # the parent's connections must not be used after the fork
    claim = commands.claim(engine, run_id=run_id, worker=os.environ[WORKER])
    if claim is None:
        return
    with _open_log(settings.log_path(run_id)) as log:
        print(f"--- attempt {claim.attempt} ---", file=log, flush=True)
        suspended, code = _run_trainer(run_id, claim.attempt, log)
    run = queries.get_run(engine, run_id)
    if run is None or run.attempt != claim.attempt or run.status not in ACTIVE:
        return  # the trainer said itself how it ended, or another attempt has taken over
    with suppress(LeaseLost):
        if suspended:
            commands.finish(engine, run_id=run_id, attempt=claim.attempt, status="suspended")
        elif commands.died(engine, run_id=run_id, attempt=claim.attempt, cause=_cause(code)) == "queued":
            _ring_again(Context(settings, engine), run_id)


def _run_trainer(run_id: str, attempt: int, log: IO[str]) -> tuple[bool, int]:
    """Start the trainer and wait for it: (whether SIGTERM asked us to suspend it, its exit code)."""
    trainer: subprocess.Popen[bytes] | None = None
    suspend = False

    def on_term(signum: int, frame: FrameType | None) -> None:
        nonlocal suspend
        suspend = True
        if trainer is not None:
            trainer.terminate()

    signal.signal(signal.SIGTERM, on_term)
    trainer = subprocess.Popen(
        [sys.executable, "-m", "worker.trainer", run_id, str(attempt)],
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment_for_child(PYTHONUNBUFFERED="1", TF_CPP_MIN_LOG_LEVEL=os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2")),
    )
    if suspend:  # the signal came while the trainer was being started
        trainer.terminate()
    code = trainer.wait()
    return suspend, code


def _cause(code: int) -> str:
    if code == -signal.SIGKILL:
        return "The trainer was killed by SIGKILL, perhaps because memory ran out"
    if code < 0:
        return f"The trainer was killed by {signal.Signals(-code).name}"
    return f"The trainer ended with exit code {code}"


def _ring_again(context: Context, run_id: str) -> None:
    run = queries.get_run(context.engine, run_id)
    with suppress(QueueUnreachable, DbError):  # the reconciler rings otherwise
        if run is not None:
            ring(context.redis(), run)


def _open_log(path: Path) -> IO[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a", encoding="utf-8")
