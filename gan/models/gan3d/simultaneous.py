"""The step of the compact 3DGAN: both networks from the same forward passes, with the published
losses.

The published step passes each event seven times through D and three times through G. D is
regressed on the energy of real showers alone: what G has not learned yet should not teach it.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from ganboard.gan.modeling.gradients import Shares, State, Tensors, call
from ganboard.gan.modeling.losses import global_mean
from ganboard.gan.models.gan3d import losses, networks
from ganboard.gan.models.gan3d.config import Config
from ganboard.gan.models.gan3d.draws import Draws


def shares(
    config: Config,
    generator: keras.Model,
    discriminator: keras.Model,
    state: State,
    draws: Draws,
    scales: Tensors,
) -> Shares:
    """See `gan.modeling.recipe.Recipe.shares`."""
    weights, power = tf.constant(losses.WEIGHTS[config.geometry]), losses.POWERS[config.geometry]
    real = tf.ones_like(draws.flips)
    turned = tf.cast(draws.flips < losses.FLIPPED, tf.float32)

    def means(opinion: tf.Tensor, image: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        terms = losses.terms(opinion, image, draws.labels, target, power)
        return tf.stack(
            [global_mean(term, config.batch_size) for term in tf.unstack(terms, axis=1)]
        )

    latents = networks.latents(config, draws.noise, draws.labels)
    with tf.GradientTape() as g_tape:
        g_tape.watch(state.g_weights)
        made, g_statistics = call(generator, state.g_weights, state.g_statistics, [latents])
    with tf.GradientTape(persistent=True) as d_tape:
        d_tape.watch([*state.d_weights, made])
        with tf.GradientTape() as r1_tape:
            r1_tape.watch(draws.image)
            of_real, _ = call(discriminator, state.d_weights, state.d_statistics, [draws.image])
            logits = of_real[:, 0]
        of_made, _ = call(discriminator, state.d_weights, state.d_statistics, [made])
        g_parts = means(of_made, made, real)
        d_parts = means(of_real, draws.image, real - turned)
        unmasked = means(of_made, made, turned)[0]
        g_loss = tf.reduce_sum(g_parts * weights)
        d_loss = tf.reduce_sum(d_parts * weights) + unmasked * weights[0]
        if config.r1:
            slope = r1_tape.gradient(logits, draws.image)
            norms = tf.reduce_sum(tf.square(slope), [1, 2, 3, 4])
            d_loss += config.r1 / 2 * global_mean(norms, config.batch_size)
        g_target, d_target = g_loss * scales[0], d_loss * scales[1]
    d_gradients = d_tape.gradient(d_target, state.d_weights)
    g_gradients = g_tape.gradient(
        made, state.g_weights, output_gradients=d_tape.gradient(g_target, made)
    )
    opinions = [
        global_mean(tf.sigmoid(opinion[:, 0]), config.batch_size) for opinion in (of_real, of_made)
    ]
    metrics = tf.concat([tf.stack([g_loss, d_loss, *opinions]), g_parts[1:], d_parts[1:]], 0)
    return Shares(metrics, d_gradients, g_gradients, (g_statistics, state.d_statistics))
