"""Training beside inference, by replicas and batch or group: where several devices help (`ganboard
predict --times`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ganboard.gan.devices import runtime
from ganboard.gan.distributed import strategy as distribution
from ganboard.gan.models.pix2pix.config import Config
from ganboard.gan.models.pix2pix.flow import examples as training_examples
from ganboard.gan.models.pix2pix.flow.frames import Frames
from ganboard.gan.models.pix2pix.prediction import inference
from ganboard.gan.models.pix2pix.prediction.prediction_request import PredictionRequest
from ganboard.gan.models.pix2pix.prediction.tiles import advance
from ganboard.gan.rng import philox
from ganboard.gan.training.step import Stepper, networks

BATCHES = 4, 16
REPEATS = 5  # after the first, which compiles


class Row(NamedTuple):
    what: str
    replicas: int
    size: int  # pairs of a step, or tiles of a turn, over all replicas
    first: float  # seconds of the first step or frame
    seconds: float  # of a later one, the median
    each: float  # of that, for a pair or a tile


def measure(
    config: Config,
    directory: Path,
    step: int,
    frames: Frames,
    request: PredictionRequest,
    on_progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """A row for training steps and for predicted frames, with one replica and with
    `request.replicas`, 2 at least.

    The first call of TensorFlow in its process. Raises CheckpointError, DatasetError.
    """
    several = max(2, request.replicas)
    config = config.model_copy(
        update={"replicas": several, "strategy": "mirrored", "accumulate": 1, "xla": False}
    )
    runtime.prepare(config)
    rows: list[Row] = []
    for row in chain(
        _training(config, frames, several),
        _inference(config, directory, step, frames, request, several),
    ):
        rows.append(row)
        on_progress(len(rows), 2 * len(BATCHES) + 5)
    return {
        "cores": runtime.cores(),
        "gpus": len(tf.config.list_logical_devices("GPU")),
        "rows": [row._asdict() for row in rows],
    }


def _training(config: Config, frames: Frames, several: int) -> Iterator[Row]:
    examples = training_examples.load(frames, config.history)
    for batch in BATCHES:
        for replicas in (1, several):
            asked = config.model_copy(
                update={"replicas": replicas, "batch_size": -(-batch // replicas) * replicas}
            )
            strategy = distribution.strategy(asked)
            with strategy.scope():
                nets = networks(asked)
            stepper = Stepper(asked, strategy, nets, examples)
            order = np.resize(
                philox.order(config.seed, 1, len(examples)), asked.batch_size * (1 + REPEATS)
            )
            first, later = _timed(
                [partial(stepper.run, order, i, i, 1) for i in range(1 + REPEATS)]
            )
            yield Row(
                "training", replicas, asked.batch_size, first, later, later / asked.batch_size
            )


def _inference(
    config: Config,
    directory: Path,
    step: int,
    frames: Frames,
    request: PredictionRequest,
    several: int,
) -> Iterator[Row]:
    """One tile at a time, as many as there are replicas, and all of a frame."""
    frame = frames.conditioned(0, config.history - 1, config.history)
    shape = frame.shape[:2]
    tiles = math.prod(shape) // math.prod(advance(config, shape, request.halo))
    for replicas, groups in ((1, (1, several, 0)), (several, (1, 0))):
        strategy = distribution.strategy(config.model_copy(update={"replicas": replicas}))
        generator = inference.restore(config, directory, step, strategy, shape, request.halo)
        for size in groups:
            tiled = inference.Tiled(
                generator, strategy, halo=request.halo, group=size, xla=request.xla
            )
            first, later = _timed([partial(tiled, frame)] * (1 + REPEATS))
            yield Row(
                "inference", replicas, replicas * tiled.size(tiles), first, later, later / tiles
            )


def _timed(acts: Sequence[Callable[[], Any]]) -> tuple[float, float]:
    """Seconds of the first, and the median of the others."""
    seconds = []
    for act in acts:
        began = perf_counter()
        act()
        seconds.append(perf_counter() - began)
    return seconds[0], float(np.median(seconds[1:]))
