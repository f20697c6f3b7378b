"""The loss surfaces around the paths of trained runs, computed with their networks; the geometry is
`gan.landscape.geometry`'s.

Every loss is taken at the same examples, noise and dropout masks, in float32, batch norm by that
batch's own statistics: as the recipe has it in training, but without penalties on gradients. While
one net moves over its surface, the other stands as it was at the end of the first run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan import data
from ganboard.gan.checkpoint import reader, snapshots
from ganboard.gan.config import RunConfig
from ganboard.gan.landscape import geometry
from ganboard.gan.landscape.geometry import LandscapeError, SurfaceRequest, Weights
from ganboard.gan.modeling import recipe
from ganboard.gan.modeling.gradients import METRICS, State, Tensors
from ganboard.gan.rng import philox
from ganboard.gan.settings import registry

OnProgress = Callable[[str, float], None]  # a phase and the share of all that is done


def compute(
    runs: Sequence[tuple[RunConfig, Path]],
    request: SurfaceRequest,
    data_dir: Path,
    on_progress: OnProgress,
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Surfaces of both nets through the end of the first of `runs` (configuration, directory), with
    the paths of all of them.

    Arrays, for either net "g" and "d": `g.x` and `g.y` [size] in units of the weights (random
    directions: of their length), `g.surface` [size, size] with y first, `g.path` with the columns
    `geometry.COLUMNS`. Facts: the share of the paths' variance that each plane holds, seconds,
    remarks. Raises LandscapeError and DatasetError in one sentence.
    """
    began = time.monotonic()
    on_progress("reading", 0.0)
    nets = _networks(runs[0][0])
    starts = _starts([config for config, _ in runs])
    paths = [
        [_path(directory, net, starts[i][n]) for n, net in enumerate(snapshots.NETS)]
        for i, (_, directory) in enumerate(runs)
    ]
    ends = [paths[0][n][-1][1] for n in range(2)]
    config, directory = runs[0]
    _restore_statistics(config, nets[0], directory)
    evaluated = _Losses(
        config, nets, request, data.load(config, data_dir).first(config.limit), ends
    )

    arrays: dict[str, npt.NDArray[Any]] = {}
    shares: dict[str, float] = {}
    count = sum(len(path) for pair in paths for path in pair) + 2 * request.size**2
    counter = _Counter(count, on_progress)
    for n, net in enumerate(snapshots.NETS):
        loss = partial(evaluated.loss, n)
        own = [pair[n] for pair in paths]
        points = [weights for path in own for _, weights in path]
        plane = (
            geometry.principal(points, ends[n])
            if request.plane == "principal"
            else geometry.random(points, ends[n], _filters(nets[n]), request.seed + n)
        )
        where = plane.coordinates(points)
        xs, ys = geometry.axes(where, request.plane, request.size)
        path = _rows(own, where, loss, counter)
        arrays |= {
            f"{net}.x": xs,
            f"{net}.y": ys,
            f"{net}.surface": geometry.surface(loss, plane, xs, ys, counter),
            f"{net}.path": path,
        }
        shares[net] = plane.share
    return arrays, {"shares": shares, "seconds": time.monotonic() - began, "images": evaluated.rows}


class _Counter:
    """Reports the share of all losses that is computed, with each of them."""

    def __init__(self, count: int, on_progress: OnProgress) -> None:
        self._count = count
        self._on_progress = on_progress
        self._done = 0

    def __call__(self, _: object = None) -> None:
        self._done += 1
        self._on_progress("computing", self._done / self._count)


def _rows(
    paths: Sequence[Sequence[tuple[int, Weights]]],
    where: npt.NDArray[Any],
    loss: Callable[[Weights], float],
    counter: _Counter,
) -> npt.NDArray[np.float64]:
    """[n, len(geometry.COLUMNS)] of the paths of all runs, whose points lie at `where` [n, 2]."""
    rows: list[tuple[float, ...]] = []
    for run, path in enumerate(paths):
        radii = geometry.radii([weights for _, weights in path])
        for (epoch, weights), radius in zip(path, radii, strict=True):
            rows.append((run, epoch, *where[len(rows)], loss(weights), radius))
            counter()
    return np.array(rows, np.float64)


def _networks(config: RunConfig) -> tuple[keras.Model, keras.Model]:
    return recipe.make(_plain(config)).networks()


def _starts(configs: Sequence[RunConfig]) -> list[list[Weights]]:
    """The untrained weights of both nets of each run. Raises LandscapeError."""
    starts = [
        [[v.numpy() for v in net.trainable_variables] for net in _networks(config)]
        for config in configs
    ]
    if strange := next(
        (i for i, start in enumerate(starts) if _shapes(start) != _shapes(starts[0])), None
    ):
        raise LandscapeError(
            f"Run {strange + 1} of {len(configs)} has different networks than the first one."
            " Compare runs with the same architecture."
        )
    return starts


def _plain(config: RunConfig, **changes: Any) -> RunConfig:
    alone = {
        "precision": "float32",
        "replicas": 1,
        "strategy": "auto",
        "accumulate": 1,
        "xla": False,
        "recompute": False,
    }
    asked = alone | {"r1": 0.0, "gradient_penalty": 0.0} | changes
    known = type(config).model_fields
    return config.model_copy(update={name: asked[name] for name in asked if name in known})


def _restore_statistics(config: RunConfig, generator: keras.Model, directory: Path) -> None:
    """The moving statistics of the end, where G generates by them for its discriminator. Raises
    LandscapeError, CheckpointError."""
    if not registry.of(config).spec.surface_by_statistics:  # it goes by the batch's own
        return
    stored = directory / "checkpoints"
    if not (found := reader.complete(stored)):
        raise LandscapeError(
            f"Run {directory.name} has no checkpoint here, which its surface needs for batch norm."
            " Resume or clone it."
        )
    arrays = reader.part(stored, found[0][0], "generator/")
    for variable in generator.non_trainable_variables:
        variable.assign(arrays[f"generator/{variable.path}"])


def _shapes(start: Sequence[Weights]) -> list[list[tuple[int, ...]]]:
    return [[tensor.shape for tensor in net] for net in start]


def _path(directory: Path, net: str, start: Weights) -> list[tuple[int, Weights]]:
    """(epoch, weights) of the start and of every snapshot that can be read."""
    folder, shapes = directory / snapshots.FOLDER, [tensor.shape for tensor in start]
    found = [
        (epoch, snapshots.load(folder, epoch, net, shapes)) for epoch in snapshots.epochs(folder)
    ]
    moved = [
        (epoch, [s + m for s, m in zip(start, moves, strict=True)])
        for epoch, moves in found
        if moves is not None
    ]
    if not moved:
        raise LandscapeError(
            f"Run {directory.name} kept no snapshots of its weights. Train a clone with"
            " snapshots=10."
        )
    return [(0, start), *moved]


def _filters(net: keras.Model) -> list[int | None]:
    """The axis of the output channels of every kernel, None for biases and batch norm."""
    transposed = {
        id(v)
        for layer in net.layers
        if isinstance(layer, keras.layers.Conv2DTranspose)
        for v in layer.trainable_variables
    }
    # transposed kernels are [height, width, out, in]
    return [
        None if v.name != "kernel" else -2 if id(v) in transposed else -1
        for v in net.trainable_variables
    ]


class _Losses:
    """Loss of either net (0: G, 1: D) as a function of its weights, all else fixed."""

    def __init__(
        self,
        config: RunConfig,
        nets: tuple[keras.Model, keras.Model],
        request: SurfaceRequest,
        examples: Any,
        ends: Sequence[Weights],
    ) -> None:
        self.rows = min(request.images, len(examples), registry.of(config).spec.surface_examples)
        model = recipe.make(_plain(config, seed=request.seed, batch_size=self.rows))
        chosen = tf.constant(philox.order(request.seed, 1, len(examples))[: self.rows])
        batch = model.rows(model.columns(examples), chosen)
        fixed = [[tf.constant(tensor) for tensor in end] for end in ends]
        statistics = [[v.value for v in net.non_trainable_variables] for net in nets]

        def loss_of(net: int) -> Any:
            phases = [
                phase
                for phase in model.phases
                if phase.log_metrics and (phase.d if net else phase.g)
            ]
            draws = [
                model.draws(phase, batch, tf.constant(n), tf.constant(0))
                for n, phase in enumerate(phases)
            ]

            def loss(*weights: tf.Tensor) -> tf.Tensor:
                both: list[Tensors] = [weights if n == net else fixed[n] for n in range(2)]
                state = State(both[0], statistics[0], both[1], statistics[1])
                parts = (
                    model.shares(*nets, state, own, [tf.ones([])] * 2, phase)
                    for phase, own in zip(phases, draws, strict=True)
                )
                return tf.add_n(
                    [part.metrics[METRICS.index(("g_loss", "d_loss")[net])] for part in parts]
                )

            # of its gradients nothing is left in the graph
            return tf.function(loss, autograph=False)

        self._functions = loss_of(0), loss_of(1)

    def loss(self, net: int, weights: Weights) -> float:
        return float(self._functions[net](*map(tf.constant, weights)))
