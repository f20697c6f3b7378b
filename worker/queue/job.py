"""The one function that the queue may call: claim the run, or join the group that trains it, start
its trainer, and report how it ended.

A run with strategy=multi_worker has several trainer processes. `ganboard train` starts those from
here too.
"""

from __future__ import annotations

import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from ganboard.db.engine import make_engine
from ganboard.db.errors import DbError, LeaseLost
from ganboard.db.placement import groups
from ganboard.db.runs import commands, queries
from ganboard.db.settings import Settings
from ganboard.worker import logs, placement
from ganboard.worker.context import Context
from ganboard.worker.errors import QueueUnreachable
from ganboard.worker.process.parent_death import PARENT, die_with_parent
from ganboard.worker.queue import attempt
from ganboard.worker.queue.enqueue import enqueue_run
from ganboard.worker.queue.interrupts import interrupts

if TYPE_CHECKING:
    from ganboard.worker.terminal.run_view import View

WORKER = "GANBOARD_WORKER_NAME"  # set by the worker before it forks


def train(run_id: str) -> None:
    """Runs in the work-horse. A repeated or stale message finds nothing to claim and returns."""
    die_with_parent(int(os.environ[PARENT]))
    settings = Settings()
    # the parent's connections must not be used after the fork
    engine = make_engine(settings.database, pooled=False)
    context = Context(settings, engine)
    worker = os.environ[WORKER]
    with interrupts(signal.SIGTERM) as interrupt:
        member = groups.of_worker(engine, worker)
        if member is not None and member.index:
            logs.bind(run=member.run_id, attempt=member.attempt)
            attempt.follow(context, member, interrupt)
            return
        claim = placement.claim(context, run_id, worker)
        if claim is None:
            return
        logs.bind(run=run_id, attempt=claim.attempt)
        if attempt.lead(context, claim, interrupt, "suspend") == "queued":
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
    with ThreadPoolExecutor(1) as pool, interrupts(signal.SIGTERM, signal.SIGINT) as interrupt:
        followed = pool.submit(follow, context, run_id, view)
        while claim is not None and attempt.lead(context, claim, interrupt, "stop") == "queued":
            if interrupt.came:
                commands.request_stop(context.engine, run_id=run_id)
            claim = placement.claim(context, run_id, owner)
        followed.result()


def _enqueue_again(context: Context, run_id: str) -> None:
    run = queries.get_run(context.engine, run_id)
    with suppress(QueueUnreachable, DbError):  # otherwise the reconciler enqueues it
        if run is not None:
            enqueue_run(context.redis(), run)
