"""Which waiting runs a machine may start: those that need nothing that it lacks, and whose newest
listed checkpoint it can read.

What counts is the file and its digest, not the name of the machine, so machines that share HOME,
and a HOME that was moved, restored or copied, start what they can read. A run whose checkpoint only
another machine has is left to that one.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from ganboard.db import heartbeats
from ganboard.db.errors import LeaseLost
from ganboard.db.models import Artifact, Checkpoint, Run, Worker
from ganboard.db.placement import artifacts, backlog, draining
from ganboard.db.runs import commands, holders, queries, reports
from ganboard.db.runs.commands import Claim
from ganboard.db.settings import Settings, SettingsError
from ganboard.gan.checkpoint import reader
from ganboard.gan.config import ConfigError, parse
from ganboard.gan.devices import capabilities
from ganboard.gan.needs import BadNeed, Need, Offer
from ganboard.gan.needs import labels as parse_labels
from ganboard.gan.needs import parse as parse_needs
from ganboard.worker.artifacts import transfers
from ganboard.worker.artifacts.store import StoreError, configured, open_store
from ganboard.worker.context import Context
from ganboard.worker.process import machine

log = logging.getLogger("ganboard.worker")

PAGE = 50  # runs that are read together


def claim(context: Context, run_id: str, worker: str) -> Claim | None:
    """`commands.claim`, but None for a run whose newest checkpoint this machine can neither read
    nor fetch from the artifact store: no attempt is spent on it."""
    engine = context.engine
    run = queries.get_run(engine, run_id)
    if run is None:
        return None
    newest, stored = holders.newest(engine, run_id), artifacts.newest(engine, run_id)
    fetched = None
    if stored is not None and (newest is None or not _reads(context, newest, stored)):
        if not _suffices(stored, newest) or (fetched := _fetched(context, stored)) is None:
            return None
    elif newest is not None and not may_start(context.settings, newest):
        return None
    claimed = commands.claim(engine, run_id=run_id, worker=worker, after=run.attempt)
    if claimed is not None and fetched:
        with suppress(LeaseLost):
            reports.add_event(
                engine, run_id=run_id, attempt=claimed.attempt, level="info", text=fetched
            )
    return claimed


def _reads(context: Context, newest: Checkpoint, stored: Artifact) -> bool:
    """Whether the newest checkpoint on a disk is here and none that is stored is newer."""
    older = (stored.step, stored.attempt) <= (newest.step, newest.attempt)
    return older and may_start(context.settings, newest)


def _suffices(stored: Artifact | None, newest: Checkpoint | None) -> bool:
    """Whether nothing would be lost by going on from a stored checkpoint."""
    if stored is None:
        return False
    return newest is None or (stored.step, stored.attempt) >= (newest.step, newest.attempt)


def _fetched(context: Context, stored: Artifact) -> str | None:
    """What was fetched, in words; None where it could not be, which the log tells."""
    try:
        if (store := open_store(context.settings)) is None:
            return None
        transfers.fetch(context.settings, store, stored)
    except StoreError as error:
        log.warning("%s", error)
        return None
    return f"Fetched the checkpoint of step {stored.step} from the artifact store."


def tend(context: Context, waiting: Sequence[Run]) -> list[Run]:
    """Those of the `waiting` runs whose notification any worker may take: the others are for this
    machine alone, which looks for them itself (`next_run`), or for another one.

    Runs of an unavailable machine wait as long as the settings say; then they go on from an older
    checkpoint in the artifact store, or fail with a message.
    """
    engine, here = context.engine, machine.name(context.settings)
    seconds, store = context.settings.machine_wait_seconds, configured(context.settings)
    in_store = artifacts.newest_of_waiting(engine) if store else {}
    alive = {state.worker.machine for state in heartbeats.workers(engine) if state.alive}
    newest = holders.newest_of_waiting(engine)
    anywhere = []
    for run in waiting:
        checkpoint = newest.get(run.id)
        if checkpoint is None or (checkpoint.machine == here and alive <= {here}):
            anywhere.append(run)
        elif checkpoint.machine == here:
            continue
        elif checkpoint.machine is not None and checkpoint.machine in alive:
            if run.phase == holders.AWAITING:
                holders.end_wait(engine, run.id)
        elif may_start(context.settings, checkpoint):
            holders.adopt(engine, checkpoint, here)
        elif _suffices(stored := in_store.get(run.id), checkpoint):
            anywhere.append(run)
        elif run.phase != holders.AWAITING:
            holders.wait(engine, checkpoint, seconds)
        elif stored is not None and stored.step is not None and stored.attempt is not None:
            holders.fall_back(engine, checkpoint, (stored.step, stored.attempt), seconds)
        else:
            holders.give_up(engine, checkpoint, seconds)
    return anywhere


def labels(settings: Settings) -> tuple[str, ...]:
    """What this machine is called, as GANBOARD_LABELS has it. Raises SettingsError."""
    try:
        return parse_labels(settings.labels)
    except BadNeed as error:
        raise SettingsError(f"GANBOARD_LABELS cannot be used: {error}.") from None


def offer(worker: Worker) -> Offer:
    """What the machine of a worker has, by its last heartbeat."""
    return Offer(worker.labels, worker.host, worker.devices)


def next_run(
    context: Context, here: Offer, *, notified: str | None = None, for_seconds: float = 0.0
) -> Run | None:
    """The run that a worker of this machine, which has what `here` says, should train next, of
    those that have waited so long; None when none is for it.

    With n free workers any of the first n runs of equal priority may go first, since all of them
    are about to start: the one that this worker was `notified` of, or one drawn by lot, so that not
    all workers claim the same.
    """
    look: _Look | None = None
    fitting: list[Run] = []
    for start in count(0, PAGE):
        page = backlog.waiting_runs(
            context.engine, for_seconds=for_seconds, limit=PAGE, offset=start
        )
        if page and look is None:
            look = _Look.of(context, here)
        if look is None or look.drained:
            return None
        for run in page:
            if fitting and (run.priority < fitting[0].priority or len(fitting) == look.free):
                break
            if look.fits(run):
                fitting.append(run)
        if fitting or len(page) < PAGE:
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
        alive = [
            state.worker
            for state in heartbeats.workers(context.engine)
            if state.alive and state.worker.machine not in drained
        ]
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
        return _can(run, self.here.devices) or not any(_can(run, one.devices) for one in others)

    def _has_checkpoint(self, run: Run) -> bool:
        newest, stored = self.newest.get(run.id), self.stored.get(run.id)
        if newest is None and stored is None:
            return True
        if newest is not None and newest.machine == self.machine:
            return True
        if newest is not None and newest.machine in {one.machine for one in self.alive}:
            return False
        if configured(self.context.settings) and _suffices(stored, newest):
            return True
        return newest is not None and may_start(self.context.settings, newest)


def terms(run: Run, name: str) -> tuple[Need, ...]:
    """The terms of a stored setting; none where it is not readable, which the trainer refuses."""
    try:
        return parse_needs(str(run.config.get(name) or ""))
    except BadNeed:
        return ()


def has(offered: Offer, needs: Sequence[Need]) -> bool:
    """Whether a machine has all of these."""
    return all(need.met(offered) for need in needs)


def _can(run: Run, devices: dict[str, Any] | Mapping[str, Any] | None) -> bool:
    """Whether these devices can run it, as far as is known."""
    try:
        return not devices or capabilities.check(parse(run.config), dict(devices)) is None
    except ConfigError:
        return True


def absence(context: Context, run: Run) -> str:
    """Why there is no checkpoint of a run on this disk, and the remedy."""
    if newest := newest_elsewhere(context, run):
        return (
            f"The checkpoints of run {run.id} are on machine {newest.machine}. Run the command"
            " there."
        )
    return (
        f"Run {run.id} has no checkpoint on this machine yet. Checkpoints are saved every"
        " checkpoint_every epochs and at the end."
    )


def newest_elsewhere(context: Context, run: Run) -> Checkpoint | None:
    """The newest listed checkpoint of a run, if another machine has its files."""
    newest = holders.newest(context.engine, run.id)
    if newest is None or newest.machine in (None, machine.recorded(context.settings)):
        return None
    return newest


def may_start(settings: Settings, newest: Checkpoint) -> bool:
    """Whether a run with this newest checkpoint may start here: this machine has listed it (a loss
    since is its own, and the loader says so), or can read it whole. What no machine is recorded for
    counts as listed here if this machine has trained the run.
    """
    folder = settings.run_dir(newest.run_id) / "checkpoints"
    if newest.machine == machine.name(settings) or (newest.machine is None and folder.is_dir()):
        return True
    return not reader.verify(folder, [(newest.step, newest.attempt, newest.digest)])
