"""Removing runs for good, with their files: at once, or after their time in the trash.

`db.runs.trash` moves runs to the trash and takes them out of it; their files stay where they are.
"""

from __future__ import annotations

import logging
import shutil

from ganboard.db import heartbeats
from ganboard.db.runs import commands, queries, trash
from ganboard.worker.context import Context
from ganboard.worker.process import machine

log = logging.getLogger("ganboard.removal")


def remove(context: Context, run_id: str) -> list[str]:
    """Remove a run's rows, log and checkpoints, also out of the trash; returns the other machines
    that still have files of it. Raises UnknownRun, NotAllowed."""
    here = machine.recorded(context.settings)
    holding = {one.machine for one in queries.checkpoints(context.engine, run_id)}
    commands.delete_run(context.engine, run_id=run_id)
    shutil.rmtree(context.settings.run_dir(run_id), ignore_errors=True)
    return sorted(name for name in holding if name is not None and name != here)


def remove_expired(context: Context) -> None:
    """Remove the runs whose time in the trash is over; of other machines that are alive each
    deletes its own files."""
    over = trash.expired(context.engine)
    if not over:
        return
    here = machine.recorded(context.settings)
    workers = [state.worker for state in heartbeats.workers(context.engine) if state.alive]
    alive = {worker.machine for worker in workers if worker.machine is not None}
    for run_id in over:
        if trash.expire(context.engine, run_id=run_id, machine=here, alive=alive):
            shutil.rmtree(context.settings.run_dir(run_id), ignore_errors=True)
            log.info("The files of run %s were deleted: its week in the trash is over.", run_id)
