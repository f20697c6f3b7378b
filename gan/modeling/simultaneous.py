"""Losses and gradients of both nets from one forward pass, whatever the networks are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from ganboard.gan.devices import runtime
from ganboard.gan.modeling import losses
from ganboard.gan.modeling.gradients import Shares, State, Tensors
from ganboard.gan.modeling.recipe import Phase
from ganboard.gan.settings.adversarial import AdversarialConfig

# a network in training, of (weights, moving statistics, inputs, numbers that its layers draw):
# output and new moving statistics
Run = Callable[[Tensors, Tensors, Tensors, Tensors], tuple[tf.Tensor, Tensors]]
# of (configuration, logits of real images, logits of generated images), [rows, 1] each: [rows]
Loss = Callable[[Any, tf.Tensor, tf.Tensor], tf.Tensor]


class Draws(NamedTuple):
    """What a micro-batch is made of."""

    images: tf.Tensor  # [rows, H, W, C] uint8
    labels: Tensors  # [rows] int32, of real and of generated images; empty without labels
    noise: tf.Tensor  # [rows, latent_dim]
    # numbers that the layers of G draw, and those of D at real and at generated images
    in_generator: Tensors
    at_real: Tensors
    at_fake: Tensors
    # [rows, 1, 1, 1] in [0, 1): where between a real and a generated image the penalty of wgan_gp
    # is taken
    mix: tf.Tensor
    augmentations: tuple[Any, Any] = ((), ())  # of real and of generated images


class Parts(NamedTuple):
    """Functions that a model consists of."""

    generate: Run
    discriminate: Run
    generator_loss: Loss = losses.generator
    discriminator_loss: Loss = losses.discriminator
    # see `gan.modeling.losses.generator_share`
    generator_share: Callable[[Any, tf.Tensor, tf.Tensor], tf.Tensor | None] = (
        lambda config, real, fake: None
    )
    # images as D sees them, of (images, one of `Draws.augmentations`); penalties are taken before
    augment: Callable[[tf.Tensor, Any], tf.Tensor] = lambda images, drawn: images
    separate: bool = False  # whether each logit depends on its own image alone


def phases(config: AdversarialConfig) -> tuple[Phase, ...]:
    """The last one updates both nets; those before see the same images with fresh noise, and are
    not logged."""
    before = Phase(d=True, g=False, log_metrics=False)
    return *[before] * (config.d_steps - 1), Phase(d=True, g=True)


def joined(config: AdversarialConfig, parts: Parts, d_statistics: Tensors) -> bool:
    """Whether real and generated images pass through D in one call: half as many operations, and
    products of twice the size. A penalty wants the gradient of one kind of images alone, and
    accelerators keep the form in which their programs were measured."""
    alone = config.r1 or config.r2 or d_statistics or runtime.accelerated()
    return parts.separate and not alone


def shares(
    config: AdversarialConfig,
    parts: Parts,
    state: State,
    draws: Draws,
    scales: Tensors,
    *,
    train_g: bool,
) -> Shares:
    """`scales` are the loss scales of G and D: the gradients are multiplied by them, the metrics
    are not."""

    def discriminate(
        images: tf.Tensor, statistics: Tensors, numbers: Tensors, augmentation: Any
    ) -> tuple[tf.Tensor, Tensors]:
        seen = [parts.augment(images, augmentation), *draws.labels]
        logits, moved = parts.discriminate(state.d_weights, statistics, seen, numbers)
        return tf.cast(logits, tf.float32), moved

    def discriminate_both(real: tf.Tensor, fake: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """Logits of both kinds of images, and the new moving statistics of D."""
        of_real, of_fake = draws.augmentations
        if not joined(config, parts, state.d_statistics):
            real_logits, moved = discriminate(real, state.d_statistics, draws.at_real, of_real)
            return real_logits, *discriminate(fake, moved, draws.at_fake, of_fake)
        images = [parts.augment(real, of_real), parts.augment(fake, of_fake)]
        seen = [tf.concat(both, 0) for both in (images, *([own, own] for own in draws.labels))]
        pairs = zip(draws.at_real, draws.at_fake, strict=True)
        numbers = [tf.concat(both, 0) for both in pairs]
        logits, moved = parts.discriminate(state.d_weights, state.d_statistics, seen, numbers)
        return *tf.split(tf.cast(logits, tf.float32), 2), moved

    def mean(values: tf.Tensor) -> tf.Tensor:
        return losses.global_mean(values, config.batch_size)

    real = tf.cast(draws.images, tf.float32) / 127.5 - 1
    with tf.GradientTape() as g_tape:
        g_tape.watch(state.g_weights)
        latents = [draws.noise, *draws.labels]
        fake, g_statistics = parts.generate(
            state.g_weights, state.g_statistics, latents, draws.in_generator
        )
        fake = tf.cast(fake, tf.float32)

    with tf.GradientTape(persistent=True) as d_tape:
        d_tape.watch([*state.d_weights, fake])
        with tf.GradientTape() as r1_tape, tf.GradientTape() as r2_tape:
            r1_tape.watch(real)
            r2_tape.watch(fake)
            real_logits, fake_logits, d_statistics = discriminate_both(real, fake)
        g_loss = mean(parts.generator_loss(config, real_logits, fake_logits))
        d_loss = mean(parts.discriminator_loss(config, real_logits, fake_logits))
        # gamma / 2 E |grad D|^2 at real and at generated images (Mescheder et al. 2018, Eq. 9, 10)
        for weight, tape, logits, images in (
            (config.r1, r1_tape, real_logits, real),
            (config.r2, r2_tape, fake_logits, fake),
        ):
            if weight:
                d_loss += weight / 2 * mean(tf.square(losses.norms(tape.gradient(logits, images))))
        if config.loss == "wgan_gp" and config.gradient_penalty:
            between = draws.mix * real + (1 - draws.mix) * tf.stop_gradient(fake)
            with tf.GradientTape() as gp_tape:
                gp_tape.watch(between)
                logits, _ = discriminate(
                    between, d_statistics, draws.at_real, draws.augmentations[0]
                )
            d_loss += config.gradient_penalty * mean(
                tf.square(losses.norms(gp_tape.gradient(logits, between)) - 1)
            )
        g_target, d_target = g_loss * scales[0], d_loss * scales[1]

    share = parts.generator_share(config, real_logits, fake_logits)
    if not train_g:
        d_gradients, g_gradients = _gradient(d_tape, d_target, state.d_weights), []
    else:
        if share is None:
            d_gradients = _gradient(d_tape, d_target, state.d_weights)
            [pull] = _gradient(d_tape, g_target, [fake])
        else:
            *d_gradients, pull = _gradient(d_tape, d_target, [*state.d_weights, fake])
            pull *= share[:, :, None, None]
        g_gradients = _gradient(g_tape, fake, state.g_weights, pull)
    opinions = [mean(tf.sigmoid(logits)) for logits in (real_logits, fake_logits)]
    return Shares(
        tf.stack([g_loss, d_loss, *opinions]),
        d_gradients,
        g_gradients,
        (g_statistics if train_g else [], d_statistics),
    )


def _gradient(
    tape: tf.GradientTape, target: tf.Tensor, sources: Tensors, upstream: tf.Tensor | None = None
) -> list[tf.Tensor]:
    """Dense gradients: that of an embedding lists rows, and a weight that is not used has none."""
    found = tape.gradient(
        target,
        list(sources),
        output_gradients=upstream,
        unconnected_gradients=tf.UnconnectedGradients.ZERO,
    )
    return [tf.convert_to_tensor(gradient) for gradient in found]
