"""Which waiting runs this machine may start: those whose newest listed checkpoint it can read.

What counts is the file and its digest, not the name of the machine, so machines that share HOME,
and a HOME that was moved, restored or copied, start what they can read. A run whose checkpoint only
another machine has is left to that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ganboard.db import heartbeats
from ganboard.db.models import Checkpoint, Run
from ganboard.db.runs import commands, holders, queries
from ganboard.db.runs.commands import Claim
from ganboard.db.settings import Settings
from ganboard.gan.checkpoint import reader
from ganboard.worker.context import Context
from ganboard.worker.process import machine


def claim(context: Context, run_id: str, worker: str) -> Claim | None:
    """`commands.claim`, but None for a run whose newest checkpoint this machine cannot read: no
    attempt is spent on it."""
    run = queries.get_run(context.engine, run_id)
    if run is None:
        return None
    newest = holders.newest(context.engine, run_id)
    if newest is not None and not may_start(context.settings, newest):
        return None
    return commands.claim(context.engine, run_id=run_id, worker=worker, after=run.attempt)


@dataclass(frozen=True)
class Ready:
    """Waiting runs that may start: on any running machine, or only on this one."""

    anywhere: list[Run]
    here: list[Run]


def ready(context: Context, waiting: Sequence[Run]) -> Ready:
    """Those of the `waiting` runs that this machine should see started.

    Runs of another running machine are left to it. Runs of an unavailable machine wait as long as
    the settings say, then fail with a message.
    """
    engine, here = context.engine, machine.name(context.settings)
    alive = {state.worker.machine for state in heartbeats.workers(engine) if state.alive}
    newest = holders.newest_of_waiting(engine)
    anywhere: list[Run] = []
    own = anywhere if alive <= {here} else []
    for run in waiting:
        checkpoint = newest.get(run.id)
        if checkpoint is None:
            anywhere.append(run)
        elif checkpoint.machine == here:
            own.append(run)
        elif checkpoint.machine is not None and checkpoint.machine in alive:
            if run.phase == holders.AWAITING:
                holders.end_wait(engine, run.id)
        elif may_start(context.settings, checkpoint):
            holders.adopt(engine, checkpoint, here)
            own.append(run)
        elif run.phase == holders.AWAITING:
            holders.give_up(engine, checkpoint, context.settings.machine_wait_seconds)
        else:
            holders.wait(engine, checkpoint, context.settings.machine_wait_seconds)
    return Ready(anywhere, own if own is not anywhere else [])


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
