"""Why a run waits although workers are alive."""

from __future__ import annotations

from collections.abc import Sequence

from ganboard.db import heartbeats
from ganboard.db.models import WAITING, Run
from ganboard.db.placement import draining
from ganboard.db.runs import holders
from ganboard.db.runs.holders import Awaited
from ganboard.worker import placement
from ganboard.worker.context import Context

DRAINED = "Every machine is drained; undrain one on the page System or with ganboard undrain"


def reasons(context: Context, runs: Sequence[Run]) -> dict[str, Awaited]:
    """Why no worker takes these runs although there are some, by run; nothing for those that only
    wait for one to be free."""
    engine, found = context.engine, {}
    drained, newest = draining.machines(engine), holders.newest_of_waiting(engine)
    alive = [state.worker for state in heartbeats.workers(engine) if state.alive]
    offers = [placement.offer(one) for one in alive if one.machine not in drained]
    for run in runs:
        if run.status not in WAITING:
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
        if reason is not None:
            found[run.id] = reason
    return found
