"""The compact 3DGAN: what its networks are made of, and its step against plain calls of them."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import ConfigError, parse
from ganboard.gan.costs import estimate
from ganboard.gan.costs.layer import LayerCost, parameters
from ganboard.gan.models.gan3d import heads, losses, networks
from ganboard.gan.models.gan3d.architecture import Geometry
from ganboard.gan.models.gan3d.config import Config
from ganboard.gan.models.gan3d.data.showers import Showers
from ganboard.gan.training.step import Stepper
from tests.unit.gan.models.gan3d.test_recipe import showers, stepper
from tests.unit.gan.models.trained import assert_both_trained

BOTH = pytest.mark.parametrize("geometry", ["25x25x25", "51x51x25"])
COMPACT = {"network": "compact", "width": 4}


def compact(geometry: Geometry = "25x25x25", **changes: Any) -> Stepper:
    return stepper(geometry, **COMPACT, **changes)


def labels(energies: list[float], angle: float = math.pi / 2) -> tf.Tensor:
    return tf.constant([[energy / 100, angle, 0.0] for energy in energies])


@BOTH
def test_costs_are_those_of_the_networks(geometry: Geometry) -> None:
    run = parse({"model": "gan3d", "geometry": geometry, **COMPACT})

    def sizes(found: Any) -> set[tuple[str, int, int]]:
        return {(layer.name, layer.entering, layer.leaving) for layer in found}

    def described(layer: keras.layers.Layer) -> LayerCost:
        entering, leaving = (math.prod(x.shape[1:]) for x in (layer.input, layer.output))
        return LayerCost(layer.name, 0, 0, entering, leaving)

    assert isinstance(run, Config)
    for net, costs in (
        (networks.generator(run), estimate.generator(run)),
        (networks.discriminator(run), estimate.discriminator(run)),
    ):
        products = [
            layer for layer in net.layers if hasattr(layer, "kernel") or layer.name == "judgements"
        ]
        assert sizes(costs) == sizes(map(described, products))
        assert parameters(costs) == sum(math.prod(w.shape) for w in net.trainable_variables)


@BOTH
def test_a_shower_has_the_energy_that_its_layers_have(geometry: Geometry) -> None:
    run = Config(geometry=geometry, network="compact", width=4)
    generator, power = networks.generator(run), losses.POWERS[geometry]
    noise = tf.random.stateless_normal([2, networks.noise(run)], (1, 2))
    images = generator(networks.latents(run, noise, labels([100, 200])))
    total = heads.energy(heads.cells(images, power)).numpy()
    # 2 % of the particle's energy, in stored units, before anything is learned
    per_gev = {"25x25x25": 100, "51x51x25": 50}[geometry]
    np.testing.assert_allclose(total / per_gev, [2, 4], rtol=0.2)
    assert images.numpy().min() >= 0


def test_cells_can_be_empty() -> None:
    run = Config(network="compact", width=4)
    generator = networks.generator(run)
    generator.get_layer("maps").bias.assign(tf.fill([25], -0.1))  # as many below zero as above
    noise = tf.random.stateless_normal([2, networks.noise(run)], (1, 2))
    images = generator(networks.latents(run, noise, labels([100, 200]))).numpy()
    assert 0.2 < (images == 0).mean() < 0.8


@BOTH
def test_a_step_trains_both_networks(geometry: Geometry) -> None:
    made = compact(geometry, batch_size=4, r1=1.0)
    before = made.nets.arrays()
    taken = made.run(np.arange(4, dtype=np.int32), 0, 0, 1)
    assert_both_trained(taken, before, made.nets.arrays())


def test_gradients_are_those_of_the_losses_on_paper() -> None:
    made = compact(r1=2.0)
    recipe, nets = made.recipe, made.nets
    held: Showers = showers("25x25x25")
    images, particles = recipe.rows(recipe.columns(held), tf.range(4))
    [phase] = recipe.phases
    draws = recipe.draws(phase, [images, particles], tf.constant(0, tf.int64), tf.constant(0))
    scales = [tf.ones([])] * 2
    pair = nets.generator, nets.discriminator
    found = recipe.shares(*pair, made.replica.state(), draws, scales, phase)

    weights = tf.constant([6.0, 0.2, 0.0, 0.1])
    turned = tf.cast(draws.flips < losses.FLIPPED, tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        latents = networks.latents(made.config, draws.noise, particles)
        generated = nets.generator(latents, training=True)
        with tf.GradientTape() as inner:
            inner.watch(images)
            opinions = nets.discriminator(images)
            logits = opinions[:, 0]
        slope = inner.gradient(logits, images)
        of_made = nets.discriminator(generated)
        real = losses.terms(opinions, images, particles, 1 - turned, 1.0) * weights
        fooled = losses.terms(of_made, generated, particles, tf.ones(4), 1.0) * weights
        caught = 6.0 * tf.nn.sigmoid_cross_entropy_with_logits(turned, of_made[:, 0])
        penalty = tf.reduce_sum(slope**2, [1, 2, 3, 4])  # times gamma / 2
        d_loss = tf.reduce_mean(tf.reduce_sum(real, 1) + caught + penalty)
        g_loss = tf.reduce_mean(tf.reduce_sum(fooled, 1))
    np.testing.assert_allclose(found.metrics.numpy()[:2], [g_loss, d_loss], rtol=1e-4)
    for net, loss, ours in (
        (nets.generator, g_loss, found.g_gradients),
        (nets.discriminator, d_loss, found.d_gradients),
    ):
        wanted = tape.gradient(loss, [v.value for v in net.trainable_variables])
        for a, b in zip(ours, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-3 * float(np.abs(b).max()) + 1e-6)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"network": "compact", "recompute": True}, "recompute=true"),
        ({"r1": 1.0}, "r1=1 is only used with network=compact"),
    ],
)
def test_settings_of_the_other_network_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        parse({"model": "gan3d", **changes})
