"""One attempt at a run, as a work-horse sees it: let the trainer processes of this machine train,
and end the attempt in the database where they could not.

What watches several processes must not be one of them, since a process inside a collective notices
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from ganboard.db.errors import LeaseLost
from ganboard.db.models import ACTIVE, Member
from ganboard.db.placement import groups
from ganboard.db.runs import commands, expiry, queries
from ganboard.db.runs.commands import Claim
from ganboard.db.settings import SettingsError
from ganboard.gan.devices import capabilities, hardware, runtime
from ganboard.gan.events import ControlSignal
from ganboard.worker import logs, safe_files
from ganboard.worker.context import Context
from ganboard.worker.queue.interrupts import Interrupt
from ganboard.worker.queue.trainers import Trainers, on_machine, ranks
from ganboard.worker.telemetry import recording
from ganboard.worker.training.worker_group import Incomplete

_REPEATED = "The work-horse was killed"  # and its worker has started another one


def lead(
    context: Context, claim: Claim, interrupt: Interrupt, verdict: ControlSignal
) -> str | None:
    """Train a claimed run, alone or as the leader of its group; returns the status stored here, if
    any.

    `verdict` is what a signal means.
    """
    with recording.of_attempt(context, claim.run_id, claim.attempt) as watched:
        return _lead(context, claim, interrupt, verdict, watched)


def _lead(
    context: Context,
    claim: Claim,
    interrupt: Interrupt,
    verdict: ControlSignal,
    watched: recording.Watched,
) -> str | None:
    engine, run_id, attempt = context.engine, claim.run_id, claim.attempt
    limits = runtime.cores(), hardware.memory_limit()
    if sentence := capabilities.too_many_processes(ranks(claim.config), *limits):
        return commands.finish(
            engine, run_id=run_id, attempt=attempt, status="failed", error=sentence
        )
    members = groups.members(engine, run_id)
    with log_of(context, run_id, attempt) as log:
        trainers = Trainers(context, claim, log, interrupt, verdict)
        ending = trainers.lead(members[0]) if members else trainers.train()
    run = queries.get_run(engine, run_id)
    if run is None or run.attempt != attempt or run.status not in ACTIVE:
        return None  # the trainer said itself how it ended, or another attempt has taken over
    own: dict[str, Any] = {"run_id": run_id, "attempt": attempt}
    watched.phase = run.phase
    with suppress(LeaseLost):
        if ending.status:
            return commands.finish(
                engine, **own, status=ending.status, error=ending.error, because=ending.because
            )
        return expiry.died(engine, **own, cause=ending.cause, limit=ending.limit)
    return None


def follow(context: Context, member: Member, interrupt: Interrupt) -> None:
    """Train this machine's part of a run that another machine leads."""
    engine = context.engine
    run = queries.get_run(engine, member.run_id)
    if run is None:
        return
    claim = Claim(run.id, member.attempt, run.config)
    report: dict[str, Any] = {"ended": True}
    with log_of(context, run.id, member.attempt) as log, suppress(LeaseLost):
        trainers = Trainers(context, claim, log, interrupt, "suspend")
        try:
            if failure := _REPEATED if member.ports else trainers.follow(member):
                report["failure"] = on_machine(member, failure)
        except SettingsError as error:
            report.update(failure=on_machine(member, str(error)), final=True)
        except Incomplete:
            pass  # the leader says so
        groups.report(engine, member, **report)


@contextmanager
def log_of(context: Context, run_id: str, attempt: int) -> Iterator[IO[str]]:
    """The log of a run on this machine, for an attempt that begins."""
    path = context.settings.log_path(run_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    first = logs.line(f"--- attempt {attempt} ---", run=run_id, attempt=attempt)
    with open(path, "a", encoding="utf-8", opener=safe_files.no_link) as log:
        print(first, file=log, flush=True)
        yield log
