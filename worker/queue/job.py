"""The one function that the queue may call: claim the run, start its trainer, and report how it
ended.

A run with strategy=multi_worker has several trainer processes. `ganboard train` starts those from
here too: what watches them must not be one of them, since a process inside a collective notices
nothing.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

from sqlalchemy import Engine

from ganboard.db.engine import make_engine
from ganboard.db.errors import DbError, LeaseLost
from ganboard.db.models import ACTIVE
from ganboard.db.runs import commands, expiry, queries
from ganboard.db.runs.commands import Claim
from ganboard.db.settings import Settings
from ganboard.gan.devices import capabilities, hardware, runtime
from ganboard.gan.events import ControlSignal
from ganboard.worker import logs, placement, safe_files
from ganboard.worker.context import Context
from ganboard.worker.errors import QueueUnreachable
from ganboard.worker.process.parent_death import PARENT, die_with_parent
from ganboard.worker.queue.enqueue import enqueue_run
from ganboard.worker.training.process_group import EXIT_HANGS, Ended, ProcessGroup
from ganboard.worker.training.start import MAX_LATE, TOO_LATE, Start

if TYPE_CHECKING:
    from ganboard.worker.terminal.run_view import View

WORKER = "GANBOARD_WORKER_NAME"  # set by the worker before it forks
TRAINER = (sys.executable, "-m", "ganboard.worker.training.trainer")


def train(run_id: str) -> None:
    """Runs in the work-horse. A repeated or stale message finds nothing to claim and returns."""
    die_with_parent(int(os.environ[PARENT]))
    settings = Settings()
    # the parent's connections must not be used after the fork
    engine = make_engine(settings.database, pooled=False)
    context = Context(settings, engine)
    claim = placement.claim(context, run_id, os.environ[WORKER])
    if claim is None:
        return
    logs.bind(run=run_id, attempt=claim.attempt)
    with _interrupts(signal.SIGTERM) as interrupt:
        if _attempt(context, claim, interrupt, "suspend") == "queued":
            _enqueue_again(context, run_id)


def train_here(context: Context, run_id: str, view: View) -> None:
    """`ganboard train` of a run with several processes: train it to its end, after a death again
    and again, without Redis and worker.

    Raises LeaseLost if another worker has it.
    """
    from ganboard.worker.terminal.run_progress import follow

    owner = f"{socket.gethostname()}:train-{os.getpid()}"
    claim = placement.claim(context, run_id, owner)
    if claim is None:
        raise LeaseLost(
            f"Run {run_id} cannot be started: it has ended or is claimed by another worker."
        )
    with ThreadPoolExecutor(1) as pool, _interrupts(signal.SIGTERM, signal.SIGINT) as interrupt:
        followed = pool.submit(follow, context, run_id, view)
        while claim is not None and _attempt(context, claim, interrupt, "stop") == "queued":
            if interrupt.came:
                commands.request_stop(context.engine, run_id=run_id)
            claim = placement.claim(context, run_id, owner)
        followed.result()


class _Interrupt:
    """Whether a signal came; it is passed on to rank 0 of the process group, which saves and
    ends."""

    def __init__(self) -> None:
        self.came = False
        self.group: ProcessGroup | None = None

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        self.came = True
        if self.group is not None:
            self.group.terminate()


@contextmanager
def _interrupts(*signals: signal.Signals) -> Iterator[_Interrupt]:
    interrupt = _Interrupt()
    before = {sig: signal.signal(sig, interrupt) for sig in signals}
    try:
        yield interrupt
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def _attempt(
    context: Context, claim: Claim, interrupt: _Interrupt, verdict: ControlSignal
) -> str | None:
    """Start the trainer, wait for it, and end the attempt in the database if it could not; returns
    the status stored here, if any.

    `verdict` is what a signal means.
    """
    engine, run_id, attempt = context.engine, claim.run_id, claim.attempt
    size = int(claim.config["replicas"]) if claim.config.get("strategy") == "multi_worker" else 1
    if sentence := capabilities.too_many_processes(size, runtime.cores(), hardware.memory_limit()):
        return commands.finish(
            engine, run_id=run_id, attempt=attempt, status="failed", error=sentence
        )
    with _open_log(context.settings.log_path(run_id)) as log:
        print(
            logs.line(f"--- attempt {attempt} ---", run=run_id, attempt=attempt),
            file=log,
            flush=True,
        )
        kills = hardware.oom_kills()
        ended, start = _run_trainer(engine, claim, verdict, size, log, interrupt)
    run = queries.get_run(engine, run_id)
    if run is None or run.attempt != attempt or run.status not in ACTIVE:
        return None  # the trainer said itself how it ended, or another attempt has taken over
    with suppress(LeaseLost):
        if interrupt.came:
            return commands.finish(
                engine,
                run_id=run_id,
                attempt=attempt,
                status="stopped" if verdict == "stop" else "suspended",
            )
        if start == "stop":
            return commands.finish(engine, run_id=run_id, attempt=attempt, status="stopped")
        if start == "late":
            return expiry.died(
                engine, run_id=run_id, attempt=attempt, cause=TOO_LATE, limit=MAX_LATE
            )
        cause, limit = _cause(ended, size, memory_ran_out=hardware.oom_kills() > kills)
        return expiry.died(engine, run_id=run_id, attempt=attempt, cause=cause, limit=limit)
    return None


def _run_trainer(
    engine: Engine,
    claim: Claim,
    verdict: ControlSignal,
    size: int,
    log: IO[str],
    interrupt: _Interrupt,
) -> tuple[Ended, str]:
    """How the trainer ended, and `Start.outcome`."""
    command = [*TRAINER, claim.run_id, str(claim.attempt), verdict]
    level = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2")
    with ProcessGroup(
        command, size, output=log, PYTHONUNBUFFERED="1", TF_CPP_MIN_LOG_LEVEL=level
    ) as group:
        interrupt.group = group
        if interrupt.came:  # the signal came while the trainer was being started
            group.terminate()
        with Start(engine, claim, group.kill) as start:
            ended = group.wait()
        interrupt.group = None
    return ended, start.outcome


def _cause(ended: Ended, size: int, *, memory_ran_out: bool) -> tuple[str, int]:
    """Why the trainer ended, and how many such ends in a row are one too many: errors that need
    manual repair are not retried for long."""
    who = "The trainer" if size == 1 else f"Rank {ended.rank} of {size} trainer processes"
    if ended.code == -signal.SIGKILL and memory_ran_out:
        had, limit = (
            resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20,
            hardware.memory_limit() / 2**30,
        )
        return (
            (
                f"{who} was killed because memory ran out (it used {had:.1f} of {limit:.1f} GiB)."
                " Clone the run with a smaller batch_size"
            ),
            3,
        )
    if ended.code == EXIT_HANGS:
        return f"{who} exited because training stalled (stall_seconds)", 2
    if ended.code < 0:
        return f"{who} was killed by {signal.Signals(-ended.code).name}", commands.MAX_FAILURES
    return f"{who} ended with exit code {ended.code}", commands.MAX_FAILURES


def _enqueue_again(context: Context, run_id: str) -> None:
    run = queries.get_run(context.engine, run_id)
    with suppress(QueueUnreachable, DbError):  # otherwise the reconciler enqueues it
        if run is not None:
            enqueue_run(context.redis(), run)


def _open_log(path: Path) -> IO[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return open(path, "a", encoding="utf-8", opener=safe_files.no_link)
