"""How DCGAN is trained: both nets at once from the same forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.data.dataset import Dataset
from ganboard.gan.modeling import losses, samples
from ganboard.gan.modeling.gradients import Shares, State, Tensors, forward
from ganboard.gan.modeling.recipe import Phase
from ganboard.gan.models.dcgan import architecture, networks
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.quality.evaluator import Evaluator
from ganboard.gan.rng import streams
from ganboard.gan.rng.philox import Purpose


class Draws(NamedTuple):
    """What a micro-batch is made of."""

    images: tf.Tensor  # [rows, 28, 28, 1] uint8
    noise: tf.Tensor  # [rows, latent_dim]
    real_masks: Tensors
    fake_masks: Tensors
    # [rows, 1, 1, 1] in [0, 1): where between a real and a generated image the penalty of wgan_gp
    # is taken
    mix: tf.Tensor


class Recipe:
    """See `gan.modeling.recipe.Recipe`; the data are images [N, 28, 28, 1] uint8."""

    terms = ()

    def __init__(self, config: Config) -> None:
        self.config = config
        # the last one updates both nets; those before see the same images with fresh noise, and are
        # not logged
        self.phases = (
            *[Phase(d=True, g=False, log_metrics=False)] * (config.d_steps - 1),
            Phase(d=True, g=True),
        )
        self.form = f"{'spectral' if networks.spectral(config) else 'direct'} convolution"

    def networks(self) -> tuple[keras.Model, keras.Model]:
        return networks.generator(self.config), networks.discriminator(self.config)

    def columns(self, data: np.ndarray[Any, Any]) -> list[tf.Tensor]:
        return [tf.constant(data)]

    def rows(self, columns: Sequence[tf.Tensor], batch: tf.Tensor) -> list[tf.Tensor]:
        return [
            tf.ensure_shape(
                tf.gather(columns[0], batch), [self.config.batch_size, *architecture.SHAPE]
            )
        ]

    def pictures(self, examples: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        return examples

    def grid(
        self, generator: keras.Model, examples: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.float32]:
        return samples.grid(self.config, generator)

    def evaluator(
        self, data: Dataset, cache_dir: Path, progress: Callable[[float], None]
    ) -> Evaluator:
        return Evaluator(self.config, data, cache_dir, progress)

    def example(self, rows: int) -> list[tf.Tensor]:
        return [tf.zeros([rows, *architecture.SHAPE], tf.uint8)]

    def draws(
        self, phase: Phase, own: Sequence[tf.Tensor], draw: tf.Tensor, row: tf.Tensor
    ) -> Draws:
        seed, rows, calls = self.config.seed, self.config.micro_batch, len(architecture.MASKS)
        random = streams.of(self.config)
        noise = random.normal(seed, Purpose.NOISE, draw, row, rows, self.config.latent_dim)
        mix = random.uniform(seed, Purpose.PENALTY, draw, row, rows, 1)[:, :, None, None]
        masks = random.masks(seed, architecture.DROPOUT, draw, row, rows, architecture.MASKS * 2)
        return Draws(own[0], noise, masks[:calls], masks[calls:], mix)

    def shares(
        self,
        generator: keras.Model,
        discriminator: keras.Model,
        state: State,
        draws: Draws,
        scales: Tensors,
        phase: Phase,
    ) -> Shares:
        return shares(self.config, generator, discriminator, state, draws, scales, phase.g)


def shares(
    config: Config,
    generator: keras.Model,
    discriminator: keras.Model,
    state: State,
    draws: Draws,
    scales: Tensors,
    train_g: bool,
) -> Shares:
    """`scales` are the loss scales of G and D: the gradients are multiplied by them, the metrics
    are not."""
    recompute = config.recompute

    def discriminate(
        images: tf.Tensor, statistics: Tensors, masks: Tensors
    ) -> tuple[tf.Tensor, Tensors]:
        return forward(
            discriminator, state.d_weights, statistics, images, masks, recompute=recompute
        )

    def mean(values: tf.Tensor) -> tf.Tensor:
        return losses.global_mean(values, config.batch_size)

    real = tf.cast(draws.images, tf.float32) / 127.5 - 1
    with tf.GradientTape() as g_tape:
        g_tape.watch(state.g_weights)
        fake, g_statistics = forward(
            generator, state.g_weights, state.g_statistics, draws.noise, recompute=recompute
        )

    with tf.GradientTape(persistent=True) as d_tape:
        d_tape.watch([*state.d_weights, fake])
        with tf.GradientTape() as r1_tape:
            r1_tape.watch(real)
            real_logits, d_statistics = discriminate(real, state.d_statistics, draws.real_masks)
        fake_logits, d_statistics = discriminate(fake, d_statistics, draws.fake_masks)
        g_loss = mean(losses.generator(config, fake_logits))
        d_loss = mean(losses.discriminator(config, real_logits, fake_logits))
        if config.r1:  # gamma / 2 E |grad D(x)|^2 (Mescheder et al. 2018, Eq. 9)
            d_loss += (
                config.r1 / 2 * mean(tf.square(losses.norms(r1_tape.gradient(real_logits, real))))
            )
        if config.loss == "wgan_gp" and config.gradient_penalty:
            between = draws.mix * real + (1 - draws.mix) * tf.stop_gradient(fake)
            with tf.GradientTape() as gp_tape:
                gp_tape.watch(between)
                logits, _ = discriminate(between, d_statistics, draws.real_masks)
            d_loss += config.gradient_penalty * mean(
                tf.square(losses.norms(gp_tape.gradient(logits, between)) - 1)
            )
        g_target, d_target = g_loss * scales[0], d_loss * scales[1]

    share = losses.generator_share(config, fake_logits)
    if not train_g:
        d_gradients, g_gradients = d_tape.gradient(d_target, state.d_weights), []
    else:
        if share is None:
            d_gradients = d_tape.gradient(d_target, state.d_weights)
            pull = d_tape.gradient(g_target, fake)
        else:
            *d_gradients, pull = d_tape.gradient(d_target, [*state.d_weights, fake])
            pull *= share[:, :, None, None]
        g_gradients = g_tape.gradient(fake, state.g_weights, output_gradients=pull)
    opinions = [mean(tf.sigmoid(logits)) for logits in (real_logits, fake_logits)]
    return Shares(
        tf.stack([g_loss, d_loss, *opinions]),
        d_gradients,
        g_gradients,
        (g_statistics if train_g else [], d_statistics),
    )
