"""How pix2pix is trained on frame pairs: both nets at once from the same forward pass (Isola et al.
2017; TensorFlow's tutorial)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.modeling.gradients import Shares, State, Tensors, call
from ganboard.gan.modeling.losses import global_mean
from ganboard.gan.modeling.recipe import Phase
from ganboard.gan.models.pix2pix import architecture, losses, networks, rendering
from ganboard.gan.models.pix2pix.config import CHANNELS, Config
from ganboard.gan.models.pix2pix.evaluator import Evaluator
from ganboard.gan.models.pix2pix.flow.examples import Examples
from ganboard.gan.rng import streams
from ganboard.gan.rng.philox import Purpose

# signs of u_x, u_y and vorticity in a mirror along the stream
_MIRRORED = (1.0, -1.0, -1.0)


class Draws(NamedTuple):
    """What a micro-batch is made of."""

    before: tf.Tensor  # [rows, side, side, inputs]
    after: tf.Tensor  # [rows, side, side, 3]
    masks: Tensors
    # with pushforward: the frame after that, and the rows [rows, 1, 1, 1] that start from G's own
    # prediction
    later: tf.Tensor | tuple[()] = ()
    pushed: tf.Tensor | tuple[()] = ()


class Recipe:
    """See `gan.modeling.recipe.Recipe`; the data are `Examples`. A pair is seen through a square
    window at a random place, mirrored at random."""

    phases = (Phase(d=True, g=True),)
    terms = ("g_l1",)
    form = "direct convolution"

    def __init__(self, config: Config) -> None:
        self.config = config
        self.side = config.side
        # [ny, nx] of the data, once they are known
        self._frame: tuple[int, ...] = (self.side, self.side)

    def networks(self) -> tuple[keras.Model, keras.Model]:
        sizes = self.config, self.config.inputs, CHANNELS
        return networks.generator(*sizes), networks.discriminator(*sizes)

    def columns(self, data: Examples) -> list[tf.Tensor]:
        self._frame = data.frames.shape[1:3]
        parts = [data.frames, data.masks, data.at, data.sequence]
        if self.config.pushforward:
            parts.append(data.continues)
        return [tf.constant(part) for part in parts]

    def rows(self, columns: Sequence[tf.Tensor], batch: tf.Tensor) -> list[tf.Tensor]:
        frames, masks, at, sequence, *continues = columns
        at, solid = tf.gather(at, batch), tf.gather(masks, tf.gather(sequence, batch))
        goes_on = [
            tf.ensure_shape(tf.gather(flags, batch), [self.config.batch_size])
            for flags in continues
        ]
        history = self.config.history
        places = [at - ago for ago in range(history)]
        places += [at + 1, *(at + 1 + flags for flags in goes_on)]
        seen = [tf.cast(tf.gather(frames, place), tf.float32) for place in places]
        seen.insert(history, tf.cast(solid[..., None], tf.float32))
        shape = [self.config.batch_size, *self._frame]
        together = tf.concat(seen, -1)
        return [tf.ensure_shape(together, [*shape, self._channels]), *goes_on]

    @property
    def _channels(self) -> int:
        """Of what is given and the frame after that, or with pushforward the two frames."""
        return self.config.inputs + CHANNELS * (2 if self.config.pushforward else 1)

    def pictures(self, examples: Examples) -> npt.NDArray[np.uint8]:
        _, after = self._pictured(examples)
        return (rendering.vorticity(after) * 127.5 + 127.5).round().astype(np.uint8)

    def grid(self, generator: keras.Model, examples: Examples) -> npt.NDArray[np.float32]:
        """What comes after the frames that `pictures` shows the real successors of."""
        before, _ = self._pictured(examples)
        keeps: list[None] = [None] * len(architecture.masks(self.config))
        parts = np.array_split(
            np.resize(before, (self.config.grid_size**2, *before.shape[1:])), self.config.grid_size
        )
        return rendering.vorticity(
            np.concatenate([generator([part, *keeps], training=False).numpy() for part in parts])
        )

    def evaluator(
        self, data: Examples, data_dir: Path, cache_dir: Path, progress: Callable[[float], None]
    ) -> Evaluator:
        return Evaluator(self.config, data)

    def example(self, rows: int) -> list[tf.Tensor]:
        frames = [tf.zeros([rows, *self._frame, self._channels])]
        return [*frames, tf.zeros([rows], tf.int32)] if self.config.pushforward else frames

    def draws(
        self, phase: Phase, own: Sequence[tf.Tensor], draw: tf.Tensor, row: tf.Tensor
    ) -> Draws:
        seed, rows = self.config.seed, self.config.micro_batch
        random = streams.of(self.config)
        chance = random.uniform(seed, Purpose.WINDOW, draw, row, rows, 3)
        seen = own[0]
        for axis, length in enumerate(self._frame):
            first = tf.cast(chance[:, axis] * float(length - self.side + 1), tf.int32)
            seen = tf.gather(
                seen, first[:, None] + tf.range(self.side), axis=1 + axis, batch_dims=1
            )
        inputs = self.config.inputs
        history = self.config.history
        signs = [*_MIRRORED * history, 1.0, *_MIRRORED * (self._channels // CHANNELS - history)]
        reflected = tf.reverse(seen, [1]) * tf.constant(signs)
        seen = tf.where(chance[:, 2, None, None, None] < 0.5, reflected, seen)
        masks = random.masks(
            seed, architecture.DROPOUT, draw, row, rows, architecture.masks(self.config)
        )
        before, after = seen[..., :inputs], seen[..., inputs : inputs + CHANNELS]
        if noise := self.config.input_noise:
            size = self.side**2 * (inputs - 1)
            drawn = random.normal(seed, Purpose.INPUT_NOISE, draw, row, rows, size)
            drawn = tf.reshape(drawn, [rows, self.side, self.side, inputs - 1])
            fluid, solid = before[..., :-1], before[..., -1:]
            before = tf.concat([fluid + noise * drawn * (1 - solid), solid], -1)
        if not self.config.pushforward:
            return Draws(before, after, masks)
        chosen = random.uniform(seed, Purpose.PUSHFORWARD, draw, row, rows, 1)[:, 0]
        pushed = (chosen < self.config.pushforward) & (own[1] > 0)
        return Draws(
            before, after, masks, seen[..., inputs + CHANNELS :], pushed[:, None, None, None]
        )

    def shares(
        self,
        generator: keras.Model,
        discriminator: keras.Model,
        state: State,
        draws: Draws,
        scales: Tensors,
        phase: Phase,
    ) -> Shares:
        def mean(values: tf.Tensor) -> tf.Tensor:
            return global_mean(values, self.config.batch_size)

        if self.config.pushforward:
            draws = self._pushed(generator, state, draws)
        with tf.GradientTape() as g_tape:
            g_tape.watch(state.g_weights)
            made, g_statistics = call(
                generator, state.g_weights, state.g_statistics, [draws.before, *draws.masks]
            )
        with tf.GradientTape(persistent=True) as d_tape:
            d_tape.watch([*state.d_weights, made])
            real, d_statistics = call(
                discriminator, state.d_weights, state.d_statistics, [draws.before, draws.after]
            )
            fake, d_statistics = call(
                discriminator, state.d_weights, d_statistics, [draws.before, made]
            )
            solid = draws.before[..., -1:]
            g_loss = mean(losses.generator(self.config, fake, made, draws.after, solid))
            d_loss = mean(losses.discriminator(real, fake))
            g_target, d_target = g_loss * scales[0], d_loss * scales[1]
        d_gradients = d_tape.gradient(d_target, state.d_weights)
        g_gradients = g_tape.gradient(
            made, state.g_weights, output_gradients=d_tape.gradient(g_target, made)
        )
        opinions = [mean(tf.reduce_mean(tf.sigmoid(logits), [1, 2, 3])) for logits in (real, fake)]
        metrics = tf.stack([g_loss, d_loss, *opinions, mean(losses.distance(made, draws.after))])
        return Shares(metrics, d_gradients, g_gradients, (g_statistics, d_statistics))

    def _pushed(self, generator: keras.Model, state: State, draws: Draws) -> Draws:
        """Some pairs one frame later, from what G makes of the first frame: its gradient stops
        there, since G should learn to go on from its errors and not to make others."""
        inputs = [draws.before, *draws.masks]
        made, _ = call(generator, state.g_weights, state.g_statistics, inputs)
        kept = draws.before[..., : -1 - CHANNELS]  # the oldest frame makes room
        made = tf.concat([tf.stop_gradient(made), kept, draws.before[..., -1:]], -1)
        return draws._replace(
            before=tf.where(draws.pushed, made, draws.before),
            after=tf.where(draws.pushed, draws.later, draws.after),
        )

    def _pictured(
        self, examples: Examples
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """The middle windows of as many pairs as a grid has, or fewer, evenly over the data: [n,
        side, side, inputs] and [n, side, side, 3]."""
        some = examples.first(self.config.grid_size**2)
        y, x = ((length - self.side) // 2 for length in examples.frames.shape[1:3])
        window = np.s_[:, y : y + self.side, x : x + self.side]
        *before, after = (
            examples.frames[some.at + later][window].astype(np.float32)
            for later in (*range(0, -self.config.history, -1), 1)
        )
        solid = examples.masks[some.sequence][window][..., None]
        return np.concatenate([*before, solid], -1, dtype=np.float32), after
