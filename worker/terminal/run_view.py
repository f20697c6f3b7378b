"""What the terminal shows of one run while it trains: rows and a bar, plain lines, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, Self

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from ganboard.db.runs import runtime_estimation
from ganboard.worker.formatting import clean, decimal, duration, quality_summary, rate
from ganboard.worker.terminal.console import make_console
from ganboard.worker.terminal.one_run import start_words
from ganboard.worker.training.start import SLOW_SECONDS

PROGRESS_SECONDS = 10.0  # between lines on how far a phase is


@dataclass
class State:
    """Where a run is."""

    phase: str = "starting"
    phase_since: datetime | None = None  # None: not known
    phase_progress: str = ""  # where the phase reports it
    epochs: int = 0  # planned
    step: int = 0  # finished, over all epochs
    steps: int | None = None  # planned, once the data set is loaded
    g_loss: float | None = None
    d_loss: float | None = None
    # as `db.runs.runtime_estimation.images_per_second` has it
    images_per_second: float | None = None
    seconds_left: float | None = None
    # seconds in this phase of its start; None once TensorFlow is loaded
    starting: float | None = None


class FinishedEpoch(Protocol):
    """What a stored epoch and a trainer's event have in common."""

    @property
    def epoch(self) -> int: ...
    @property
    def g_loss(self) -> float: ...
    @property
    def d_loss(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def images(self) -> int: ...


class Evaluated(Protocol):
    """What a stored evaluation and a trainer's event have in common."""

    @property
    def epoch(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def preparation_seconds(self) -> float | None: ...
    @property
    def measures(self) -> Mapping[str, float]: ...


class View:
    """Shows nothing but `say`, and that on stderr: for `--json`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None: ...

    def say(self, text: str) -> None:
        print(clean(text), file=sys.stderr, flush=True)  # noqa: T201

    def show(self, state: State) -> None: ...

    def epoch(self, done: FinishedEpoch, state: State) -> None: ...

    def quality(self, evaluated: Evaluated) -> None: ...


class Lines(View):
    """One plain line per epoch, and one for each phase that people wait for: for files and
    pipes."""

    def __init__(self) -> None:
        self._phase = ""
        self._compiling_since: datetime | None = None
        self._slow = False
        self._progress_said = 0.0

    def say(self, text: str) -> None:
        print(clean(text), flush=True)  # noqa: T201

    def show(self, state: State) -> None:
        if state.phase != self._phase:
            if self._phase == "compiling":
                self.say(f"compiled in {_since(self._compiling_since)}")
            self._phase = state.phase
            self._compiling_since = state.phase_since
            # they alternate with every epoch
            if state.phase not in ("training", "evaluating", "saving"):
                self.say(f"{state.phase} ...")
        if state.phase_progress and time.monotonic() - self._progress_said >= PROGRESS_SECONDS:
            self._progress_said = time.monotonic()
            self.say(state.phase_progress)
        seconds = state.starting or 0.0
        if seconds >= SLOW_SECONDS and not self._slow:
            self.say(start_words(state.phase, seconds))
        self._slow = seconds >= SLOW_SECONDS

    def epoch(self, done: FinishedEpoch, state: State) -> None:
        self.say(
            f"epoch {done.epoch}/{state.epochs}: G {decimal(done.g_loss)}, D"
            f" {decimal(done.d_loss)}, {done.seconds:.2f} s, {rate(_speed(done))} images/s,"
            f" {duration(_left(done, state))} left"
        )

    def quality(self, evaluated: Evaluated) -> None:
        took = f"evaluated in {evaluated.seconds:.1f} s"
        if evaluated.preparation_seconds:
            took += f" after {evaluated.preparation_seconds:.1f} s of preparation"
        self.say(
            f"quality after epoch {evaluated.epoch}: {quality_summary(evaluated.measures)}, {took}"
        )


class PhaseColumn(ProgressColumn):
    """The phase, and how long it has lasted: drawn anew while nothing else happens."""

    def render(self, task: Task) -> Text:
        since: datetime | None = task.fields["since"]
        return Text(task.description if since is None else f"{task.description} {_since(since)}")


class Live(View):
    """A table that grows by a row per epoch above a progress bar: for a terminal."""

    def __init__(self) -> None:
        self._headed = False
        self._progress = Progress(
            SpinnerColumn(),
            PhaseColumn(),
            BarColumn(),
            TextColumn("{task.fields[detail]}", markup=False),
            console=make_console(),
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None, detail="", since=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        self._progress.console.print(clean(text))

    def show(self, state: State) -> None:
        detail = f"step {state.step}/{state.steps}" if state.steps else ""
        if state.g_loss is not None:
            detail += f"  G {decimal(state.g_loss)}  D {decimal(state.d_loss)}"
        if state.images_per_second:
            detail += f"  {rate(state.images_per_second)} images/s"
        if state.seconds_left is not None:
            detail += f"  {duration(state.seconds_left)} left"
        if state.steps and self._progress.tasks[0].total is None:
            # what was trained before must not count as speed
            self._progress.reset(self._task, total=state.steps, completed=state.step)
        reason, since = state.phase, state.phase_since
        if state.starting is not None:
            reason, since = start_words(state.phase, state.starting), None
        elif state.phase == "training":
            # steps have a bar of their own; of every other phase only the seconds move
            since = None
        if state.phase_progress:
            reason, since = f"{state.phase}: {state.phase_progress}", None
        self._progress.update(
            self._task, description=reason, completed=state.step, detail=detail, since=since
        )

    def epoch(self, done: FinishedEpoch, state: State) -> None:
        if not self._headed:
            self._headed = True
            self.say(
                f"{'epoch':>11} {'G loss':>10} {'D loss':>10} {'seconds':>9} {'images/s':>9}"
                f" {'time left':>10}"
            )
        self.say(
            f"{f'{done.epoch}/{state.epochs}':>11} {decimal(done.g_loss):>10}"
            f" {decimal(done.d_loss):>10} {done.seconds:>9.2f} {rate(_speed(done)):>9}"
            f" {duration(_left(done, state)):>10}"
        )

    def quality(self, evaluated: Evaluated) -> None:
        self.say(f"{'quality':>11} {quality_summary(evaluated.measures)}")


def make_view(*, quiet: bool) -> View:
    """The view that fits where stdout leads."""
    if quiet:
        return View()
    return Live() if sys.stdout.isatty() else Lines()


def _since(moment: datetime | None) -> str:
    if moment is None:
        return duration(None)
    return duration(max(0.0, (datetime.now(UTC) - moment).total_seconds()))


def _speed(done: FinishedEpoch) -> float | None:
    return done.images / done.seconds if done.seconds else None


def _left(done: FinishedEpoch, state: State) -> float | None:
    """Time left after this epoch."""
    return runtime_estimation.seconds_left(
        (state.epochs - done.epoch) * done.images, state.images_per_second
    )
