"""`ganboard schedule SCHEDULER`: submits the runs of this placement as jobs, follows the jobs, and
cancels those of runs that were stopped, until it is asked to end.

`ganboard up` starts one as soon as a run wants it. It keeps nothing: several may run, and any may
be killed.
"""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import suppress
from datetime import timedelta

from ganboard.db import clock
from ganboard.db.engine import reading
from ganboard.db.errors import NotAllowed
from ganboard.db.models import ACTIVE, ENDED, WAITING, Run, SchedulerJob
from ganboard.db.placement import backlog, jobs
from ganboard.db.runs import commands
from ganboard.worker import rounds
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.queue.reconcile import expire_leases
from ganboard.worker.schedulers import known
from ganboard.worker.schedulers.scheduler import (
    JobState,
    Scheduler,
    SchedulerAway,
    SchedulerRefused,
)

log = logging.getLogger("ganboard.schedulers")

# for the tasks of a run that has ended to end by themselves
ENDING_SECONDS = 60.0


def advance(context: Context, scheduler: Scheduler) -> int:
    """Follow every job once and submit what waits; returns how many jobs were submitted. Raises
    errors of the database."""
    expire_leases(context)
    opened = jobs.open_jobs(context.engine, scheduler.name)
    submitted = 0
    try:
        states = scheduler.states([job.job_id for job, _ in opened]) if opened else {}
        for job, run in opened:
            if job.job_id:
                _follow(context, scheduler, job, run, states.get(job.job_id))
        followed = {run.id for job, run in opened if job.job_id}
        for run in backlog.waiting_runs(context.engine, placement=scheduler.name):
            submitted += run.id not in followed and _submit(context, scheduler, run)
    except (SchedulerAway, SchedulerRefused) as error:  # what is left waits for the next round
        log.warning("%s: %s", scheduler.title, error)
    return submitted


def _follow(
    context: Context, scheduler: Scheduler, job: SchedulerJob, run: Run, found: JobState | None
) -> None:
    engine = context.engine
    words = f"{scheduler.title} job {job.job_id}"
    if found is None or found.ended:
        if run.status in ACTIVE:
            return  # the lease of its attempt runs out first
        state = found or JobState("unknown", "the scheduler has forgotten it")
        if state.cancelled and run.status in WAITING:
            with suppress(NotAllowed):
                commands.request_stop(engine, run_id=run.id, said=f"{words} was cancelled.")
        reason = f" ({state.reason})" if state.reason else ""
        # a run that saved and left in time did not fail, whatever its exit code says
        how = "" if run.status == "suspended" else f": {state.state}{reason}"
        ended = f"{words} ended{how}"
        jobs.end(engine, job, state.state, state.reason, ended)
        return
    jobs.see(engine, job, found.state, found.reason)
    if run.status in ENDED and (run.attempt == job.attempt or _ended_long_ago(context, run)):
        log.info("%s is cancelled: its run %s has ended.", words, run.id)
        scheduler.cancel(job.job_id)


def _submit(context: Context, scheduler: Scheduler, run: Run) -> bool:
    engine = context.engine
    if not jobs.reserve(engine, run, scheduler.name):
        return False
    try:
        # one that was submitted by a driver that died at once
        job_id = scheduler.find(run) or scheduler.submit(context, run)
    except SchedulerRefused as error:
        jobs.refuse(engine, run, f"{scheduler.title} refused the job: {error}")
        return False
    except SchedulerAway as error:
        jobs.postpone(engine, run, str(error))
        raise
    jobs.submitted(engine, run, job_id, f"{scheduler.title} job {job_id}")
    return True


def _ended_long_ago(context: Context, run: Run) -> bool:
    with reading(context.engine) as session:
        present = clock.read(session)
    return run.ended_at is not None and present - run.ended_at > timedelta(seconds=ENDING_SECONDS)


def serve(context: Context, scheduler: Scheduler, ended: threading.Event) -> None:
    """Go round until `ended`."""
    rounds.serve(context, scheduler.name, lambda: advance(context, scheduler), ended)


def main(name: str) -> int:
    """Serve until SIGINT or SIGTERM."""
    scheduler = known.find(name)
    return rounds.run(lambda context, ended: serve(context, scheduler, ended))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
