"""Candidates in turns within one run, so that whatever the machine does meanwhile hits all
alike."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from ganboard.db.settings import Settings
from ganboard.gan.bench.protocol import Task
from ganboard.gan.config import RunConfig, parse, plan
from ganboard.gan.costs import estimate
from ganboard.gan.devices.hardware import memory_limit
from ganboard.worker.bench.candidates import (
    CANDIDATES,
    PRECISIONS,
    BenchmarkError,
    Candidate,
    Running,
    model_of_peers,
)
from ganboard.worker.bench.platform import Platform
from ganboard.worker.bench.report import Result
from ganboard.worker.formatting import rate

TURN_SECONDS = 5.0
LEAST_STEPS = 5
SAVE_SECONDS = 20.0  # the platform draws a grid and saves about so often, twice while it is timed
SPARE_BYTES = 2 << 30  # a candidate is started only with so much memory left,
# and this much, or what it is reckoned to need, for each image of a batch: activations and
# gradients
BYTES_PER_IMAGE = 5 << 20


@dataclass(frozen=True)
class Options:
    """What the command was asked."""

    model: str = field(default_factory=model_of_peers)
    batch: int | None = None  # by default that of the model
    precisions: Sequence[str] = PRECISIONS
    rounds: int = 5
    only: Sequence[str] = ()
    steps: int | None = None  # of one turn; by default as many as fill TURN_SECONDS
    peer_python: str = sys.executable
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the benchmark's settings


@dataclass(frozen=True)
class Doing:
    """Current state of the benchmark."""

    round: int  # from 1
    text: str
    seconds_left: float | None  # until all is measured; unknown before the first turn has ended


class Watcher:
    """Receives progress; this one ignores it."""

    def doing(self, now: Doing) -> None: ...

    def done(self, text: str, seconds_left: float) -> None: ...


@contextmanager
def run_benchmark(
    settings: Settings, options: Options, base: RunConfig, available: int, folder: Path
) -> Iterator[BenchmarkRunner]:
    """A benchmark whose processes end with it."""
    benchmark = BenchmarkRunner(settings, options, base, available, folder)
    try:
        yield benchmark
    finally:
        benchmark.end()


class BenchmarkRunner:
    """Candidates sleep between their turns, and are ended and started anew only where memory runs
    short."""

    def __init__(
        self, settings: Settings, options: Options, base: RunConfig, available: int, folder: Path
    ) -> None:
        """`folder` holds images.npy; `base` are the settings of our trainer, `available` the images
        of its data set."""
        self._settings, self._options, self._base, self._folder = settings, options, base, folder
        self._steps_per_epoch = plan(base, available).steps_per_epoch
        self._results: dict[Candidate, Result] = {}
        self._awake: dict[Candidate, Running] = {}
        self._waiting: list[Candidate] = []  # whose turns come, in order
        self._platform: Platform | None = None

    def run(self, candidates: Sequence[Candidate], watcher: Watcher) -> list[Result]:
        """Every round visits all, every other one backwards, so that a steady drift favours none of
        them."""
        rounds, took = self._options.rounds, dict[Candidate, float]()
        due = [
            (n, c)
            for n in range(1, rounds + 1)
            for c in (candidates if n % 2 else reversed(candidates))
        ]
        while due:
            (number, candidate), *due = due
            self._waiting = [c for _, c in due]
            left, began = (
                (_left([candidate, *self._waiting], took) if took else None),
                time.monotonic(),
            )
            try:
                text = self._turn(candidate, number, partial(_report, watcher, number, left))
            except BenchmarkError as reason:
                self._result(candidate).problem = text = str(reason)
                self._sleep_no_more(candidate)
                due = [(n, c) for n, c in due if c != candidate]
            took[candidate] = time.monotonic() - began
            watcher.done(
                f"round {number}/{rounds}: {candidate.label}: {text}",
                _left([c for _, c in due], took),
            )
        return [self._result(candidate) for candidate in candidates]

    def end(self) -> None:
        for candidate in list(self._awake):
            self._sleep_no_more(candidate)
        if self._platform:
            self._platform.end()

    def _turn(self, candidate: Candidate, number: int, doing: Callable[[str], None]) -> str:
        """One turn; returns its outcome in words. Raises BenchmarkError."""
        result = self._result(candidate)
        if candidate.name == "start":
            doing(f"starting {candidate.label}")
            result.seconds[number] = self._start(candidate).first_step()
            self._sleep_no_more(candidate)
            return f"{result.seconds[number]:.1f} s"
        if candidate.name == "platform":
            return self._platform_turn(result, number, doing)
        running = self._ready(result, doing)
        doing(f"measuring {candidate.label}")
        result.rates[number] = self._measure(running, result, result.steps)
        return f"{rate(result.rates[number])} images/s"

    def _platform_turn(self, result: Result, number: int, doing: Callable[[str], None]) -> str:
        """A run of the platform, and beside it the bare trainer over the same number of steps; the
        order changes with the round."""
        bare = self._result(replace(CANDIDATES[0], precision=result.candidate.precision))
        running = self._ready(bare, doing)
        self._make_room(keep=bare.candidate)
        if self._platform is None:
            doing("starting ganboard up")
            self._platform = Platform(self._folder / "home", self._settings.data)
        every = max(1, round(SAVE_SECONDS / (bare.step_seconds * self._steps_per_epoch)))
        result.steps = 2 * every * self._steps_per_epoch
        epochs = {"epochs": 1 + 2 * every, "grid_every": every, "checkpoint_every": every}
        config = parse(
            {**self._base.model_dump(), "precision": result.candidate.precision, **epochs}
        )

        def through_the_platform() -> None:
            doing(f"measuring {result.candidate.label}: a run of {config.epochs} epochs")
            assert self._platform is not None
            seconds, images = self._platform.train(config)
            result.rates[number] = images / seconds

        def beside_it() -> None:
            doing(f"measuring {bare.candidate.label} over the same number of steps")
            result.partner[number] = self._measure(running, bare, result.steps)

        for measure in (beside_it, through_the_platform)[:: 1 if number % 2 else -1]:
            measure()
        return f"{rate(result.rates[number])} images/s, {rate(result.partner[number])} without"

    def _result(self, candidate: Candidate) -> Result:
        return self._results.setdefault(candidate, Result(candidate))

    def _measure(self, running: Running, result: Result, steps: int) -> float:
        """Images per second over `steps`."""
        seconds, memory = running.take(steps)
        result.memory_bytes = max(memory, result.memory_bytes or 0)
        return steps * self._base.batch_size / seconds

    def _ready(self, result: Result, doing: Callable[[str], None]) -> Running:
        """The candidate's processes, warm; started when they are not there, and the length of its
        turns chosen the first time."""
        candidate = result.candidate
        if candidate not in self._awake:
            doing(f"starting {candidate.label}")
            running = self._start(candidate)
            running.first_step()
            result.version = running.warm_up()
            if not result.steps:
                result.step_seconds, _ = running.take(1)
                unit = candidate.steps_together
                least = max(LEAST_STEPS, round(TURN_SECONDS / result.step_seconds))
                result.steps = self._options.steps or -(-least // unit) * unit
        return self._awake[candidate]

    def _start(self, candidate: Candidate) -> Running:
        """Start a candidate's processes."""
        self._make_room()
        precision = candidate.precision
        settings = {**self._base.model_dump(), "precision": precision, **candidate.changes}
        images = str(self._folder / "images.npy")
        task = Task(
            self._base.batch_size,
            precision,
            images,
            candidate.form,
            settings,
            str(self._settings.data),
        )
        started = replace(candidate, module=candidate.program(self._options.model))
        self._awake[candidate] = Running(started, task, self._options.peer_python, self._folder)
        return self._awake[candidate]

    def _make_room(self, keep: Candidate | None = None) -> None:
        """While memory is short, end those whose turn is furthest away, but not `keep`."""
        needed = (
            SPARE_BYTES
            + max(BYTES_PER_IMAGE, estimate.image_bytes(self._base)) * self._base.batch_size
        )
        while _memory_left() < needed and (others := [c for c in self._awake if c != keep]):
            order = [*self._waiting, *others]
            self._sleep_no_more(max(others, key=order.index))

    def _sleep_no_more(self, candidate: Candidate) -> None:
        if running := self._awake.pop(candidate, None):
            running.end()


def _report(watcher: Watcher, number: int, left: float | None, text: str) -> None:
    watcher.doing(Doing(number, text, left))


def _left(turns: Sequence[Candidate], took: dict[Candidate, float]) -> float:
    """Seconds that the turns to come take if each takes as long as the last of its kind, and an
    unknown one as long as the average."""
    average = sum(took.values()) / len(took)
    return sum(took.get(candidate, average) for candidate in turns)


def _memory_left() -> int:
    """Bytes that processes of ours may still use, on this machine and in this control group."""
    own = 0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            memory = process.memory_info()
            own += memory.rss - getattr(memory, "shared", 0)
    return min(int(psutil.virtual_memory().available), memory_limit() - own)
