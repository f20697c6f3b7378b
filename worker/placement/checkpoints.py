"""Where the newest checkpoints of runs are, and what becomes of runs whose machine is away.

What counts is the file and its digest, not the name of the machine, so machines that share HOME,
and a HOME that was moved, restored or copied, start what they can read. A run whose checkpoint only
another machine has is left to that one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ganboard.db import heartbeats
from ganboard.db.models import Artifact, Checkpoint, Run
from ganboard.db.placement import artifacts
from ganboard.db.runs import holders
from ganboard.db.settings import Settings
from ganboard.gan.checkpoint import reader
from ganboard.worker.artifacts.store import configured
from ganboard.worker.context import Context
from ganboard.worker.process import machine


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
        elif suffices(stored := in_store.get(run.id), checkpoint):
            anywhere.append(run)
        elif run.phase != holders.AWAITING:
            holders.wait(engine, checkpoint, seconds)
        elif stored is not None and stored.step is not None and stored.attempt is not None:
            holders.fall_back(engine, checkpoint, (stored.step, stored.attempt), seconds)
        else:
            holders.give_up(engine, checkpoint, seconds)
    return anywhere


def suffices(stored: Artifact | None, newest: Checkpoint | None) -> bool:
    """Whether nothing would be lost by going on from a stored checkpoint."""
    if stored is None:
        return False
    return newest is None or (stored.step, stored.attempt) >= (newest.step, newest.attempt)


def may_start(settings: Settings, newest: Checkpoint) -> bool:
    """Whether a run with this newest checkpoint may start here: this machine has listed it (a loss
    since is its own, and the loader says so), or can read it whole. What no machine is recorded for
    counts as listed here if this machine has trained the run.
    """
    folder = settings.run_dir(newest.run_id) / "checkpoints"
    if newest.machine == machine.name(settings) or (newest.machine is None and folder.is_dir()):
        return True
    return not reader.verify(folder, [(newest.step, newest.attempt, newest.digest)])


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


def log_absence(context: Context, run: Run) -> str | None:
    """Where the log of a run is that is neither here nor in the artifact store; None where no other
    machine is known to have trained it."""
    if newest := newest_elsewhere(context, run):
        return f"The log of run {run.id} is on machine {newest.machine}. Read it there."
    return None


def newest_elsewhere(context: Context, run: Run) -> Checkpoint | None:
    """The newest listed checkpoint of a run, if another machine has its files."""
    newest = holders.newest(context.engine, run.id)
    if newest is None or newest.machine in (None, machine.recorded(context.settings)):
        return None
    return newest
