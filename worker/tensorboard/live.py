"""Event files of a run while it trains: `tensorboard=true`."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ganboard.db.models import Run
from ganboard.gan import profiling
from ganboard.gan.config import RunConfig
from ganboard.gan.events import EpochDone, Event, Facts, Grid, Note, Quality, Sink, Started, Steps
from ganboard.gan.settings.features import recorded
from ganboard.worker.tensorboard.board import Board
from ganboard.worker.tensorboard.event_file import EventFile


class EventFiles:
    """A `Sink` that writes what one attempt of a run reports into an event file of its own. Use it
    as a context.

    When the file cannot be written, `report` receives a warning and training goes on without it.
    """

    def __init__(self, run_dir: Path, run: Run, config: RunConfig, report: Sink) -> None:
        self._run, self._config, self._report = run, config, report
        self._folder = profiling.folder(run_dir)
        self._file: EventFile | None = None
        self._facts: dict[str, Any] = dict(run.facts)
        self._step = self._epoch = 0

    def __enter__(self) -> Self:
        try:
            self._file = EventFile(self._folder)
            self._board = Board(self._file)
        except OSError as error:
            self._give_up(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is None:
            return
        try:
            if self._epoch == self._config.epochs:
                self._file.ended("finished", time.time())
            self._file.close()
        except OSError as problem:
            self._give_up(problem)

    def __call__(self, event: Event) -> None:
        if self._file is None:
            return
        try:
            self._write(event, self._file)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._file = None
        self._report(
            Note(
                "warning",
                f"TensorBoard files are no longer written: {self._folder} cannot be written"
                f" ({error.strerror}). `ganboard tensorboard` writes those of a stored run.",
            )
        )

    def _write(self, event: Event, file: EventFile) -> None:
        now, board = time.time(), self._board
        match event:
            case Started():
                board.steps_per_epoch, self._step = event.steps_per_epoch, event.start_step
                if event.start_step:
                    board.resume(event.start_step, now)
                board.settings(self._run.name, self._config.model_dump(mode="json"), now)
            case Steps():
                losses = {"g_loss": event.g_losses, "d_loss": event.d_losses}
                self._step = board.steps(event.epoch, event.first, {**losses, **event.series}, now)
            case EpochDone():
                self._epoch = event.epoch
                board.epoch(event, now)
                file.flush()
            case Facts():
                self._facts |= event.values
            case Quality():
                board.quality(event, recorded(self._facts), now)
            case Grid():
                board.grid(event.epoch, event.png, now)
            case Note():
                board.note(event.level, event.text, self._step, now)
