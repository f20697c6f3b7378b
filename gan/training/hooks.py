"""The periodic work of a training beside its steps: grids of images, evaluations, snapshots of the
weights, checkpoints.

A hook says when it is due and is then run by the loop, in the first process of a run only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ganboard.gan.checkpoint import snapshots
from ganboard.gan.checkpoint.saver import Saver
from ganboard.gan.config import RunConfig
from ganboard.gan.devices import peak_flops
from ganboard.gan.events import REAL_IMAGES, EpochDone, Facts, Grid, Note, Phase, Quality, Sink
from ganboard.gan.modeling import samples
from ganboard.gan.modeling.recipe import Evaluator, Recipe
from ganboard.gan.progress import Progress
from ganboard.gan.training.epoch_metrics import EpochMetrics
from ganboard.gan.training.guards.monitors import Monitors
from ganboard.gan.training.guards.watchdog import Watchdog
from ganboard.gan.training.networks import Networks


@dataclass
class TrainingState:
    """What the loop and its hooks share."""

    config: RunConfig
    model: Recipe
    nets: Networks
    examples: Any
    progress: Progress
    epoch_metrics: EpochMetrics
    monitors: Monitors
    watchdog: Watchdog
    sink: Sink
    leads: bool  # whether this is the first process of the run
    epoch: int = 0  # that is being trained, or has just ended; counted from 1
    done: EpochDone | None = None  # the last finished epoch of this attempt

    def run_due(self, *hooks: Hook, ended: bool) -> None:
        """Run those that are due, in this order, at the end of the epoch or in the middle of it."""
        if not self.leads:
            return
        for hook in hooks:
            if hook.due(self.epoch, ended=ended):
                hook.run(self)


class Hook(Protocol):
    """Periodic work of the training loop."""

    def due(self, epoch: int, *, ended: bool) -> bool:
        """Whether to run now: after the last step of `epoch`, or between two calls of the training
        step."""

    def run(self, state: TrainingState) -> None:
        """Do the work and report it to the sink. No step is taken meanwhile."""


class ImageGrid:
    """Images of the run's fixed latents."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config

    def due(self, epoch: int, *, ended: bool) -> bool:
        return ended and _every(self._config.grid_every, epoch, self._config.epochs)

    def run(self, state: TrainingState) -> None:
        images = state.model.grid(state.nets.eval_generator, state.examples)
        self._draw(state.sink, state.epoch, images)
        for note in state.monitors.grid(state.epoch, images):
            state.sink(note)

    def draw_real(self, sink: Sink, pictures: npt.NDArray[np.uint8]) -> None:
        """The first of the data set's `pictures` [n, H, W, C]."""
        self._draw(sink, REAL_IMAGES, samples.real(self._config, pictures))

    def _draw(self, sink: Sink, epoch: int, images: npt.NDArray[np.float32]) -> None:
        size = self._config.grid_size
        sink(Grid(epoch, samples.png(images, size), size, size))


class Evaluation:
    """How good what the generator makes is."""

    def __init__(self, config: RunConfig, dataset: Any, data_dir: Path, cache_dir: Path) -> None:
        self._config = config
        self._dataset = dataset
        self._data_dir, self._cache_dir = data_dir, cache_dir
        self._evaluator: Evaluator | None = None

    def due(self, epoch: int, *, ended: bool) -> bool:
        every = self._config.quality_every  # 0: never
        return ended and bool(every) and _every(every, epoch, self._config.epochs)

    def run(self, state: TrainingState) -> None:
        with state.watchdog.paused():
            state.sink(Phase("evaluating"))
            began = time.monotonic()
            evaluator = self._evaluator or self._prepare(state)
            prepared = time.monotonic()
            measures, histogram = evaluator(state.nets.eval_generator)
            quality = Quality(
                epoch=state.epoch,
                seconds=time.monotonic() - prepared,
                training_seconds=state.progress.training_seconds,
                measures=measures,
                histogram=histogram,
                preparation_seconds=0.0 if self._evaluator else prepared - began,
            )
            self._evaluator = evaluator
            # first, so that no page shows a number without the features that it comes from
            state.sink(Facts(dict(evaluator.facts)))
            state.sink(quality)
            for note in state.monitors.evaluated(quality, evaluator.facts.get("class_shares", ())):
                state.sink(note)
            state.sink(Phase("training"))

    def _prepare(self, state: TrainingState) -> Evaluator:
        """The first time in this attempt: it may train a classifier."""
        evaluator = state.model.evaluator(
            self._dataset, self._data_dir, self._cache_dir, lambda share: state.watchdog.heartbeat()
        )
        for text in evaluator.remarks:
            state.sink(Note("info", text))
        return evaluator


class WeightSnapshot:
    """What the weights moved by since the start, for the descent path and the loss surfaces."""

    def __init__(
        self, config: RunConfig, directory: Path, initial: tuple[snapshots.Moves, snapshots.Moves]
    ) -> None:
        self._config = config
        self._directory = directory
        self._initial = initial

    def due(self, epoch: int, *, ended: bool) -> bool:
        return ended and snapshots.due(epoch, self._config.epochs, self._config.snapshots)

    def run(self, state: TrainingState) -> None:
        moves = []
        for weights, initial in zip(state.nets.weights(), self._initial, strict=True):
            moves.append([now - then for now, then in zip(weights, initial, strict=True)])
        try:
            snapshots.save(self._directory, state.epoch, moves)
        except OSError as error:
            state.sink(
                Note(
                    "warning",
                    f"The weights of epoch {state.epoch} could not be saved for the descent path:"
                    f" {error.strerror or error}.",
                )
            )


class PeakMeasurement:
    """What this machine can do at best, measured once, after the first epoch of an attempt."""

    def __init__(self, config: RunConfig, machine: dict[str, Any], cache_dir: Path) -> None:
        self._config = config
        self._machine = machine
        self._cache_dir = cache_dir
        self._measured = False

    def due(self, epoch: int, *, ended: bool) -> bool:
        return ended and not self._measured

    def run(self, state: TrainingState) -> None:
        assert state.done is not None
        self._measured = True
        peak = peak_flops.best(self._config.precision, self._machine, self._cache_dir)
        state.epoch_metrics.peak_gflops = peak
        memory = state.done.measures["peak_memory_bytes"]
        state.sink(Facts({"peak_gflops": peak, "measured_memory_bytes": memory}))


class Checkpoint:
    """Saves during training; the last state of an attempt is saved by the loop."""

    def __init__(self, saver: Saver) -> None:
        self._saver = saver

    def due(self, epoch: int, *, ended: bool) -> bool:
        return self._saver.due(epoch if ended else None)

    def run(self, state: TrainingState) -> None:
        self._saver.save(state.progress, leaving=False)


def _every(count: int, epoch: int, epochs: int) -> bool:
    """Every `count` epochs, and after the last."""
    return epoch % count == 0 or epoch == epochs
