"""Which waiting run a machine starts next: the first in the queue that needs nothing that the
machine lacks, and whose newest checkpoint it can read or fetch."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from ganboard.db.models import Artifact, Checkpoint, Run, Worker
from ganboard.db.placement import artifacts, backlog, draining
from ganboard.db.runs import holders
from ganboard.gan.needs import Offer
from ganboard.worker.artifacts.store import configured
from ganboard.worker.context import Context
from ganboard.worker.placement import forming
from ganboard.worker.placement.checkpoints import may_start, suffices
from ganboard.worker.placement.machines import can, has, offer, terms
from ganboard.worker.process import machine

PAGE = 50  # runs that are read together


def next_run(
    context: Context,
    here: Offer,
    *,
    worker: str = "",
    notified: str | None = None,
    for_seconds: float = 0.0,
) -> Run | None:
    """The run that a worker of this machine, which has what `here` says, should train next, of
    those that have waited so long; None when none is for it.

    A run that needs more machines than are free keeps this one free, unless too few exist: what is
    behind it in the queue would otherwise keep it waiting for ever.

    With n free workers any of the first n runs of equal priority may go first, since all of them
    are about to start: the one that this worker was `notified` of, or one drawn by lot, so that not
    all workers claim the same.
    """
    look: _Look | None = None
    fitting: list[Run] = []
    held = False
    for start in count(0, PAGE):
        page = backlog.waiting_runs(
            context.engine, for_seconds=for_seconds, limit=PAGE, offset=start
        )
        if page and look is None:
            look = _Look.of(context, here)
        if look is None or look.drained:
            return None
        for run in page:
            taken = sum(map(forming.hosts, fitting))
            if fitting and (run.priority < fitting[0].priority or taken >= look.free):
                break
            if not look.fits(run):
                continue
            ready = look.is_ready(run, worker)
            if ready:
                fitting.append(run)
            held = ready is False
            if held:
                break
        if fitting or held or len(page) < PAGE:
            break
    return next((run for run in fitting if run.id == notified), None) or (
        random.choice(fitting) if fitting else None
    )


@dataclass(frozen=True)
class _Look:
    """What decides which runs a worker may take, read once."""

    context: Context
    machine: str
    here: Offer
    drained: bool
    alive: list[Worker]
    free: int  # workers that look for a run, this one included
    newest: dict[str, Checkpoint]
    stored: dict[str, Artifact]

    @classmethod
    def of(cls, context: Context, here: Offer) -> _Look:
        drained = draining.machines(context.engine)
        own = machine.name(context.settings)
        alive = forming.alive(context)
        return cls(
            context,
            own,
            here,
            own in drained,
            alive,
            max(1, sum(one.run_id is None for one in alive)),
            holders.newest_of_waiting(context.engine),
            artifacts.newest_of_waiting(context.engine),
        )

    @cached_property
    def fleet(self) -> forming.Fleet:
        """Read only where a run wants several machines."""
        return forming.Fleet.of(self.context)

    def fits(self, run: Run) -> bool:
        needs, prefers = terms(run, "needs"), terms(run, "prefers")
        if not has(self.here, needs) or not self._has_checkpoint(run):
            return False
        others = [
            one for one in self.alive if one.machine != self.machine and has(offer(one), needs)
        ]
        if not has(self.here, prefers) and any(
            one.run_id is None and has(offer(one), prefers) for one in others
        ):
            return False
        # what no machine can run is started here all the same: the trainer says why it cannot
        return can(run, self.here.devices) or not any(can(run, one.devices) for one in others)

    def is_ready(self, run: Run, worker: str) -> bool | None:
        """Whether its machines are free, those of a run with hosts > 1 led by this worker; None if
        this worker has no part in it."""
        if forming.hosts(run) == 1:
            return True
        fleet = self.fleet
        leader = fleet.leads(worker)
        if leader is None:
            return None
        if fleet.group(run, leader):
            return True
        possible = 1 + len(fleet.partners(run, leader)) >= forming.hosts(run)
        return False if possible else None

    def _has_checkpoint(self, run: Run) -> bool:
        newest, stored = self.newest.get(run.id), self.stored.get(run.id)
        if newest is None and stored is None:
            return True
        if newest is not None and newest.machine == self.machine:
            return True
        if newest is not None and newest.machine in {one.machine for one in self.alive}:
            return False
        if configured(self.context.settings) and suffices(stored, newest):
            return True
        return newest is not None and may_start(self.context.settings, newest)
