"""How 3DGAN is trained: D on real showers, D on generated ones, then G twice (AngleArch3dGAN,
Gan3DTrainAngle).

Generated showers are made for the particles of the batch, at the fixed angle too, where the
original draws energies of its own: what G learns are then the energies of the data, whatever they
are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.modeling.gradients import Shares, State, Tensors, forward
from ganboard.gan.modeling.losses import global_mean
from ganboard.gan.modeling.recipe import Phase
from ganboard.gan.models.gan3d import architecture, losses, networks, rendering, simultaneous
from ganboard.gan.models.gan3d.config import Config
from ganboard.gan.models.gan3d.data.showers import Showers
from ganboard.gan.models.gan3d.draws import Draws
from ganboard.gan.models.gan3d.evaluation.evaluator import Evaluator
from ganboard.gan.rng import streams, tf_philox
from ganboard.gan.rng.philox import Purpose

# Convolutions that are recomputed in one. At 51x51x25 their inputs together outweigh any two of
# them; at 25x25x25 one alone is the peak.
TOGETHER: dict[architecture.Geometry, int] = {"51x51x25": 2, "25x25x25": 1}
_PICTURES = 500  # of real events, for comparisons
_FIRST_SHARE = 0.2  # of the examples, in the first epoch of a curriculum
_REAL, _FAKE, _G = "real", "fake", "generator"
PUBLISHED = (
    Phase(d=True, g=False, kind=_REAL),
    Phase(d=True, g=False, kind=_FAKE),
    *[Phase(d=False, g=True, kind=_G)] * 2,
)


class Recipe:
    """See `gan.modeling.recipe.Recipe`; the data are `Showers`."""

    terms = tuple(f"{net}_{name}" for net in ("g", "d") for name in losses.TERMS[1:])

    def __init__(self, config: Config) -> None:
        self.config = config
        self.geometry = config.geometry
        self.shape = architecture.SHAPES[self.geometry]
        published = config.network == "published"
        self.phases = PUBLISHED if published else (Phase(d=True, g=True),)
        self.form = (
            "up-sampling folded into convolutions"
            if published
            else "layers of a shower as channels"
        )

    def networks(self) -> tuple[keras.Model, keras.Model]:
        return networks.generator(self.config), networks.discriminator(self.config)

    def columns(self, data: Showers) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.Tensor]:
        energies = data.labels[:, 0]
        self._from_median = np.argsort(np.abs(energies - np.median(energies)), kind="stable")
        values, cells = (
            tf.RaggedTensor.from_row_splits(part, data.splits) for part in (data.values, data.cells)
        )
        return values, cells, tf.constant(data.labels)

    def rows(
        self, columns: tuple[tf.RaggedTensor, tf.RaggedTensor, tf.Tensor], batch: tf.Tensor
    ) -> list[tf.Tensor]:
        values, cells, labels = (tf.gather(column, batch) for column in columns)
        count, size = self.config.batch_size, self.shape[0] * self.shape[1] * self.shape[2]
        at = tf.stack(
            [tf.cast(values.value_rowids(), tf.int32), tf.cast(cells.values, tf.int32)], 1
        )
        images = tf.reshape(tf.scatter_nd(at, values.values, [count, size]), [count, *self.shape])
        return [images, tf.ensure_shape(labels, [count, 3])]

    def curriculum(self, epoch: int, order: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The examples of this epoch, as many as `order` has: in the first epochs those whose
        energy is nearest to the median, each several times."""
        over = self.config.curriculum * self.config.epochs
        if epoch > over:
            return order
        share = _FIRST_SHARE + (1 - _FIRST_SHARE) * (epoch - 1) / over
        nearest = self._from_median[: math.ceil(share * len(order))]
        chosen: npt.NDArray[Any] = nearest[order % len(nearest)].astype(order.dtype)
        return chosen

    def pictures(self, examples: Showers) -> npt.NDArray[np.uint8]:
        pictured = rendering.side(
            examples.dense(0, min(len(examples), _PICTURES)), losses.POWERS[self.geometry]
        )
        return (pictured * 127.5 + 127.5).round().astype(np.uint8)

    def grid(self, generator: keras.Model, examples: Showers) -> npt.NDArray[np.float32]:
        """For the particles of the first real events, so that both grids can be laid side by
        side."""
        count, none = self.config.grid_size**2, tf.constant(0)
        noise = tf_philox.normal(
            self.config.seed, Purpose.GRID, none, none, count, networks.noise(self.config)
        )
        latents = networks.latents(self.config, noise, np.resize(examples.labels, (count, 3)))
        made = [
            generator(part, training=False).numpy()[..., 0]
            for part in tf.split(latents, self.config.grid_size)
        ]
        return rendering.side(np.concatenate(made), losses.POWERS[self.geometry])

    def evaluator(
        self, data: Showers, data_dir: Path, cache_dir: Path, progress: Callable[[float], None]
    ) -> Evaluator:
        return Evaluator(self.config, data)

    def example(self, rows: int) -> list[tf.Tensor]:
        return [tf.ones([rows, *self.shape]), tf.ones([rows, 3])]

    def draws(
        self, phase: Phase, own: Sequence[tf.Tensor], draw: tf.Tensor, row: tf.Tensor
    ) -> Draws:
        seed, rows = self.config.seed, self.config.micro_batch
        random = streams.of(self.config)
        noise = random.normal(seed, Purpose.NOISE, draw, row, rows, networks.noise(self.config))
        flips = random.uniform(seed, Purpose.FLIPS, draw, row, rows, 1)[:, 0]
        masks = random.masks(
            seed, architecture.DROPOUT, draw, row, rows, networks.masks(self.config)
        )
        return Draws(own[0], own[1], noise, flips, masks)

    def shares(
        self,
        generator: keras.Model,
        discriminator: keras.Model,
        state: State,
        draws: Draws,
        scales: Tensors,
        phase: Phase,
    ) -> Shares:
        if self.config.network == "compact":
            return simultaneous.shares(self.config, generator, discriminator, state, draws, scales)
        again: Any = {"recompute": self.config.recompute, "together": TOGETHER[self.geometry]}
        g_statistics: Tensors = []
        with tf.GradientTape() as tape:
            tape.watch(state.g_weights if phase.g else state.d_weights)
            image = draws.image
            if phase.kind != _REAL:
                latents = networks.latents(self.config, draws.noise, draws.labels)
                made = forward(
                    generator,
                    state.g_weights,
                    state.g_statistics,
                    latents,
                    training=phase.g,
                    **again,
                )
                image, g_statistics = made[0], made[1] if phase.g else []
            discriminated, d_statistics = forward(
                discriminator, state.d_weights, state.d_statistics, image, draws.masks, **again
            )
            turned = (
                tf.cast(draws.flips < losses.FLIPPED, tf.float32)
                if phase.d
                else tf.zeros_like(draws.flips)
            )
            target = tf.abs(float(phase.kind != _FAKE) - turned)
            parts = losses.terms(
                discriminated, image, draws.labels, target, losses.POWERS[self.geometry]
            )
            means = tf.stack(
                [global_mean(part, self.config.batch_size) for part in tf.unstack(parts, axis=1)]
            )
            loss = tf.reduce_sum(means * losses.WEIGHTS[self.geometry])
            scaled = loss * scales[0 if phase.g else 1]
        gradients = tape.gradient(scaled, state.g_weights if phase.g else state.d_weights)
        opinion = global_mean(tf.sigmoid(discriminated[:, 0]), self.config.batch_size)
        metrics = self._metrics(phase, loss, opinion, means[1:])
        return Shares(
            metrics,
            [] if phase.g else gradients,
            gradients if phase.g else [],
            (g_statistics, d_statistics),
        )

    def _metrics(
        self, phase: Phase, loss: tf.Tensor, opinion: tf.Tensor, parts: tf.Tensor
    ) -> tf.Tensor:
        """Each net has two phases in a step: losses are the means of both."""
        zero, half = tf.zeros([]), parts / 2
        common = (
            [loss / 2, zero, zero, zero]
            if phase.g
            else [zero, loss / 2, *([opinion, zero] if phase.kind == _REAL else [zero, opinion])]
        )
        own = [half, tf.zeros_like(half)] if phase.g else [tf.zeros_like(half), half]
        return tf.concat([tf.stack(common), *own], 0)
