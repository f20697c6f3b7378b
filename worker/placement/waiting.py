"""Why a run waits although workers are alive."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ganboard.db import heartbeats
from ganboard.db.models import WAITING, WORKERS, Run
from ganboard.db.placement import draining, jobs
from ganboard.db.runs import holders
from ganboard.db.runs.holders import Awaited
from ganboard.worker import placement
from ganboard.worker.context import Context
from ganboard.worker.placement import forming

TITLES = {"slurm": "SLURM", "kubernetes": "Kubernetes"}
DRAINED = "Every machine is drained; undrain one on the page System or with ganboard undrain"


def reasons(context: Context, runs: Sequence[Run]) -> dict[str, Awaited]:
    """Why no worker takes these runs although there are some, by run; nothing for those that only
    wait for one to be free."""
    runs = [run for run in runs if run.status in WAITING]
    if not runs:
        return {}
    engine, found = context.engine, {}
    fleet: forming.Fleet | None = None
    drained, newest = draining.machines(engine), holders.newest_of_waiting(engine)
    alive = [state.worker for state in heartbeats.workers(engine) if state.alive]
    offers = [placement.offer(one) for one in alive if one.machine not in drained]
    for run in runs:
        if run.placement != WORKERS:
            found[run.id] = _for_scheduler(context, run)
            continue
        reason = None
        if run.id in newest:
            reason = holders.awaited(engine, run, context.settings.machine_wait_seconds)
        if reason is None and alive and not offers:
            reason = Awaited(DRAINED, None)
        needs = placement.terms(run, "needs")
        if reason is None and offers and not any(placement.has(one, needs) for one in offers):
            lacks = [[str(need) for need in needs if not need.met(one)] for one in offers]
            fewest = min(lacks, key=lambda missing: len(missing))
            reason = Awaited(f"No machine has what it needs: {', '.join(fewest)}", None)
        if reason is None and forming.hosts(run) > 1:
            fleet = fleet or forming.Fleet.of(context)
            reason = _for_group(fleet, run)
        if reason is not None:
            found[run.id] = reason
    return found


def _for_scheduler(context: Context, run: Run) -> Awaited:
    """What keeps a run waiting that the scheduler of a cluster starts."""
    title = TITLES[run.placement]
    job = jobs.of_run(context.engine, run.id)
    if job is not None and not job.ended and job.job_id:
        state = job.state.lower().replace("_", " ") or "submitted"
        reason = f": {job.reason}" if job.reason else ""
        return Awaited(f"{title} job {job.job_id} is {state}{reason}", None)
    if not any(state.alive for state in heartbeats.drivers(context.engine, run.placement)):
        return Awaited(
            f"Nothing submits jobs to {title}: start ganboard up, or ganboard schedule"
            f" {run.placement}, on a machine that reaches it",
            None,
        )
    if job is not None and job.ended and job.reason and not job.job_id:
        return Awaited(f"{title} does not answer: {job.reason}", None)
    return Awaited(f"A job is about to be submitted to {title}", None)


def _for_group(fleet: forming.Fleet, run: Run) -> Awaited | None:
    """What keeps a run on several machines waiting; None if nothing does any more."""
    wanted = forming.hosts(run)
    machines = fleet.machines()
    leaders = [one for one in machines if forming.lack(run, one) is None]
    if not leaders:
        return None
    # the machine whose group would be the largest could lead it
    largest = max(leaders, key=lambda one: len(fleet.partners(run, one)))
    able = 1 + len(fleet.partners(run, largest))
    if able < wanted:
        others = [one for one in machines if one != largest]
        obstacles = [forming.obstacle(run, largest, one) for one in others]
        gaps = [fleet.gap(one, other) for one, other in combinations(machines, 2)]
        first = next((f": {text}" for text in [*obstacles, *gaps] if text), "")
        return Awaited(f"Needs {wanted} machines, and {able} can train it together{first}", None)
    free = sum(not fleet.is_engaged(one) for one in machines)
    if free < wanted:
        return Awaited(f"Needs {wanted} machines at once, and {free} of {able} are free", None)
    return None
