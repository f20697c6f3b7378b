"""The loss surfaces around the paths of trained runs, computed with their networks; the geometry is `gan.landscape`'s.

Every loss is taken at the same images, noise and dropout masks, in float32, batch norm by that batch's own statistics: as in training, but
without penalties on gradients. While one net moves over its surface, the other stands as it was at the end of the first run.
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

from gan import data, keys, landscape, losses, snapshots, streams
from gan.config import DRAWN, RunConfig
from gan.gradients import forward
from gan.keys import Purpose
from gan.landscape import LandscapeError, Weights, Wish
from gan.models.dcgan import networks

COLUMNS = ("run", "epoch", "x", "y", "loss", "radius")  # of a path; run counts from 0, radius is the distance from the run's last point
Told = Callable[[str, float], None]  # a phase and the share of all that is done


def compute(
    runs: Sequence[tuple[RunConfig, Path]], wish: Wish, data_dir: Path, told: Told
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Surfaces of both nets through the end of the first of `runs` (configuration, directory), with the paths of all of them.

    Arrays, for either net "g" and "d": `g.x` and `g.y` [size] in units of the weights (random directions: of their length), `g.surface`
    [size, size] with y first, `g.path` [n, len(COLUMNS)]. Facts: the share of the paths' variance that each plane holds, seconds, remarks.
    Raises LandscapeError and DatasetError in one sentence.
    """
    began = time.monotonic()
    if other := next((config.model for config, _ in runs if config.model != DRAWN), None):
        raise LandscapeError(f"Surfaces are drawn of model={DRAWN}, and a run's model is {other}: choose runs of {DRAWN}.")
    told("reading", 0.0)
    nets = _networks(runs[0][0])
    starts = [[[v.numpy() for v in net.trainable_variables] for net in _networks(config)] for config, _ in runs]
    if strange := next((i for i, start in enumerate(starts) if _shapes(start) != _shapes(starts[0])), None):
        raise LandscapeError(f"Run {strange + 1} of {len(runs)} has other networks than the first: compare runs of one architecture.")
    paths = [[_path(directory, net, starts[i][n]) for n, net in enumerate(snapshots.NETS)] for i, (_, directory) in enumerate(runs)]
    ends = [paths[0][n][-1][1] for n in range(2)]
    evaluated = _Losses(runs[0][0], nets, wish, data.load(runs[0][0], data_dir).images, ends)

    arrays: dict[str, npt.NDArray[Any]] = {}
    shares: dict[str, float] = {}
    count = sum(len(path) for pair in paths for path in pair) + 2 * wish.size**2
    done = 0

    def step(_: object = None) -> None:
        nonlocal done
        done += 1
        told("computing", done / count)

    for n, net in enumerate(snapshots.NETS):
        points = [weights for pair in paths for _, weights in pair[n]]
        plane = (
            landscape.principal(points, ends[n])
            if wish.plane == "principal"
            else landscape.random(points, ends[n], _filters(nets[n]), wish.seed + n)
        )
        where = plane.coordinates(points)
        xs, ys = landscape.axes(where, wish.plane, wish.size)
        rows: list[tuple[float, ...]] = []
        for run, pair in enumerate(paths):
            radii = landscape.radii([weights for _, weights in pair[n]])
            for (epoch, weights), radius in zip(pair[n], radii, strict=True):
                rows.append((run, epoch, *where[len(rows)], evaluated.loss(n, weights), radius))
                step()
        arrays |= {
            f"{net}.x": xs,
            f"{net}.y": ys,
            f"{net}.surface": landscape.surface(partial(evaluated.loss, n), plane, xs, ys, step),
            f"{net}.path": np.array(rows, np.float64),
        }
        shares[net] = plane.share
    return arrays, {"shares": shares, "seconds": time.monotonic() - began, "images": evaluated.rows}


def _networks(config: RunConfig) -> tuple[keras.Model, keras.Model]:
    plain = config.model_copy(update={"precision": "float32", "replicas": 1, "xla": False})
    return networks.generator(plain), networks.discriminator(plain)


def _shapes(start: Sequence[Weights]) -> list[list[tuple[int, ...]]]:
    return [[tensor.shape for tensor in net] for net in start]


def _path(directory: Path, net: str, start: Weights) -> list[tuple[int, Weights]]:
    """(epoch, weights) of the start and of every snapshot that can be read."""
    folder, shapes = directory / snapshots.FOLDER, [tensor.shape for tensor in start]
    found = [(epoch, snapshots.load(folder, epoch, net, shapes)) for epoch in snapshots.epochs(folder)]
    moved = [(epoch, [s + m for s, m in zip(start, moves, strict=True)]) for epoch, moves in found if moves is not None]
    if not moved:
        raise LandscapeError(f"Run {directory.name} kept no weights: train with snapshots=10, which a clone of it may have.")
    return [(0, start), *moved]


def _filters(net: keras.Model) -> list[int | None]:
    """The axis of the output channels of every kernel, None for biases and batch norm."""

    def axis(variable: keras.Variable) -> int | None:
        if variable.name != "kernel":
            return None
        return -2 if "up_" in variable.path else -1  # transposed kernels are [height, width, out, in]

    return [axis(variable) for variable in net.trainable_variables]


class _Losses:
    """Loss of either net (0: G, 1: D) as a function of its weights, all else fixed."""

    def __init__(
        self, config: RunConfig, nets: tuple[keras.Model, keras.Model], wish: Wish, images: npt.NDArray[np.uint8], ends: Any
    ) -> None:
        self.rows = min(wish.images, len(images))
        chosen = images[keys.order(wish.seed, 1, len(images))[: self.rows]]
        real = tf.cast(chosen, tf.float32) / 127.5 - 1
        zero = tf.constant(0)
        noise = streams.normal(wish.seed, Purpose.NOISE, zero, zero, self.rows, config.latent_dim)
        masks = streams.masks(wish.seed, networks.DROPOUT, zero, zero, self.rows, networks.MASKS * 2)
        of_real, of_fake = masks[: len(networks.MASKS)], masks[len(networks.MASKS) :]
        statistics = [[v.value for v in net.non_trainable_variables] for net in nets]
        fixed = [[tf.constant(tensor) for tensor in end] for end in ends]

        def fake_by(weights: Sequence[tf.Tensor]) -> tf.Tensor:
            return forward(nets[0], weights, statistics[0], noise)[0]

        fake = fake_by(fixed[0])

        @tf.function(autograph=False)  # type: ignore[untyped-decorator]
        def of_g(*weights: tf.Tensor) -> tf.Tensor:
            logits, _ = forward(nets[1], fixed[1], statistics[1], fake_by(weights), of_fake)
            return tf.reduce_mean(losses.generator(config, logits))

        @tf.function(autograph=False)  # type: ignore[untyped-decorator]
        def of_d(*weights: tf.Tensor) -> tf.Tensor:
            real_logits, kept = forward(nets[1], weights, statistics[1], real, of_real)
            fake_logits, _ = forward(nets[1], weights, kept, fake, of_fake)
            return tf.reduce_mean(losses.discriminator(config, real_logits, fake_logits))

        self._functions = of_g, of_d

    def loss(self, net: int, weights: Weights) -> float:
        return float(self._functions[net](*map(tf.constant, weights)))
