"""Event files of a stored run: all of its curves, images, settings and events, as a training with
`tensorboard=true` writes them."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import count
from pathlib import Path

import numpy as np

from ganboard.db.curves import logged, timeline
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.settings.features import recorded
from ganboard.worker.context import Context
from ganboard.worker.errors import WorkerError
from ganboard.worker.tensorboard import profile
from ganboard.worker.tensorboard.board import Board
from ganboard.worker.tensorboard.event_file import END, EventFile


class BadFolder(WorkerError):
    """The folder cannot take the event files."""


def write(context: Context, run: Run, directory: Path) -> Path:
    """Write everything stored about `run` below `directory`, into a new folder that has the name
    and the id of the run, with its profiler traces; returns the event file. Raises BadFolder."""
    folder = directory / folder_name(run)
    try:
        if folder.exists():
            raise BadFolder(f"{folder} exists already: choose another folder, or delete it.")
        with EventFile(folder) as file:
            _write(context, run, file)
        profile.copy(context, run.id, folder)
        return file.path
    except OSError as error:
        raise BadFolder(
            f"{error.filename or folder} cannot be written ({error.strerror})."
        ) from None


def folder_name(run: Run) -> str:
    """As TensorBoard lists the run."""
    return f"{re.sub(r'[^A-Za-z0-9._=-]+', '-', run.name).strip('-.') or 'run'}-{run.id}"


def _write(context: Context, run: Run, file: EventFile) -> None:
    engine, per_epoch = context.engine, run.steps_per_epoch or 1
    board = Board(file, per_epoch)
    board.settings(run.name, run.config, _seconds(run.started_at or run.created_at))
    times = timeline.of_run(engine, run.id)
    ends = {epoch.epoch: epoch for epoch in queries.epochs(engine, run.id)}
    for number in count(1):
        losses = queries.step_losses(engine, run.id, number)
        if losses is None or times is None:
            break
        columns = {
            "g_loss": losses.g_losses,
            "d_loss": losses.d_losses,
            **queries.step_series(engine, run.id, number),
        }
        first = (number - 1) * times.per_epoch + 1
        moments = times.time(np.arange(first, first + len(losses.g_losses), dtype=np.float64))
        board.steps(number, 0, columns, moments.astype(np.int64) / 1000)
        if number in ends:
            done = ends.pop(number)
            board.epoch(done, _seconds(done.finished_at))
    for done in ends.values():  # of a script, which reports no steps that way
        board.epoch(done, _seconds(done.finished_at))
    for name, step, at, value in logged.rows(engine, run.id):
        file.scalars({name: value}, step, at)
    for evaluated in queries.qualities(engine, run.id):
        board.quality(evaluated, recorded(run.facts), _seconds(evaluated.made_at))
    for grid in queries.grids(engine, run.id):
        board.grid(grid.epoch, grid.png, _seconds(grid.made_at))
    for event in queries.events(engine, run.id, limit=None)[::-1]:
        at = _seconds(event.at)
        step = 0 if times is None else int(times.step_at(np.array([at]))[0])
        board.note(event.level, event.text, step, at)
    if run.status in END and run.ended_at is not None:
        file.ended(run.status, _seconds(run.ended_at))


def _seconds(moment: datetime) -> float:
    return moment.timestamp()
