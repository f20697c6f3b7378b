"""Layers as costs describe them, beside those of the networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from ganboard.gan.costs import estimate
from ganboard.gan.costs.layer import LayerCost, layer_costs, macs, parameters
from tests.unit.gan.costs.configs import config


def entering(layer: Any) -> list[int]:
    """The shape of what a layer multiplies, with the zeros that it puts around it."""
    from ganboard.gan.layers.blocks import BlockedConv3D

    *sides, channels = layer.input.shape[1:]
    pads = layer.pads if isinstance(layer, BlockedConv3D) else [0] * len(sides)
    return [*(n + 2 * pad for n, pad in zip(sides, pads, strict=True)), channels]


def assert_described(net: Any, layers: Sequence[LayerCost]) -> None:
    """`layers` are those of `net` that have weights to multiply with, in order, with what enters,
    leaves and is trained."""
    products = [
        layer for layer in net.layers if hasattr(layer, "kernel") or layer.name == "judgements"
    ]
    assert [layer.name for layer in layers] == [layer.name for layer in products]
    assert [layer.entering for layer in layers] == [
        math.prod(entering(layer)) for layer in products
    ]
    assert [layer.leaving for layer in layers] == [
        math.prod(layer.output.shape[1:]) for layer in products
    ]
    assert parameters(layers) == sum(math.prod(weight.shape) for weight in net.trainable_variables)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"table1_literal": True},
        {"generator_batch_norm": False},
        {"discriminator_batch_norm": True},
        {"latent_dim": 7, "table1_literal": True, "generator_batch_norm": False},
    ],
)
def test_shapes_and_parameters_are_those_of_the_networks(changes: dict[str, Any]) -> None:
    from ganboard.gan.models.dcgan import networks as dcgan

    run = config(**changes)
    for net, layers in (
        (dcgan.generator(run), estimate.generator(run)),
        (dcgan.discriminator(run), estimate.discriminator(run)),
    ):
        assert_described(net, layers)


@pytest.mark.parametrize(
    ("geometry", "g", "d", "step"),
    [("51x51x25", 6.123, 3.791, 80.0), ("25x25x25", 0.511, 1.570, 19.0)],
)
def test_3dgan_costs_what_was_counted(geometry: str, g: float, d: float, step: float) -> None:
    """Products in GFLOP as counted from the published layers, parameters and maps as the networks
    have them."""
    from ganboard.gan.models.gan3d import networks

    run = config(model="gan3d", dataset="showers", geometry=geometry)
    assert 2e-9 * macs(estimate.generator(run)) == pytest.approx(g, abs=5e-4)
    assert 2e-9 * macs(estimate.discriminator(run)) == pytest.approx(d, abs=5e-4)
    assert 1e-9 * estimate.step_flop(run) / run.batch_size == pytest.approx(step, rel=0.03)
    for net, layers in (
        (networks.generator(run), estimate.generator(run)),
        (networks.discriminator(run), estimate.discriminator(run)),
    ):
        assert_described(net, layers)


@pytest.mark.parametrize(
    ("side", "g", "d", "step"),
    [(256, 12.096, 6.394, 80.5), (128, 3.012, 1.534, 19.6), (64, 0.740, 0.353, 4.66)],
)
def test_pix2pix_costs_what_was_counted(side: int, g: float, d: float, step: float) -> None:
    """With three channels as published in GFLOP; parameters and maps with the obstacle's channel as
    the networks have them."""
    from ganboard.gan.models.pix2pix import architecture, networks

    run = config(model="pix2pix", dataset="flow", images_path="street", geometry=f"{side}x{side}")
    u_net = layer_costs((side, side, 3), architecture.generator(run, 3))
    patch_gan = layer_costs((side, side, 6), architecture.discriminator(run.width))
    assert 2e-9 * macs(u_net) == pytest.approx(g, abs=5e-4)
    assert 2e-9 * macs(patch_gan) == pytest.approx(d, abs=5e-4)
    assert 1e-9 * estimate.step_flop(run) / run.batch_size == pytest.approx(step, rel=0.02)
    for net, layers in (
        (networks.generator(run, 4, 3), estimate.generator(run)),
        (networks.discriminator(run, 4, 3), estimate.discriminator(run)),
    ):
        assert_described(net, layers)


def test_the_compact_u_net_costs_what_keras_makes_of_it() -> None:
    from ganboard.gan.models.pix2pix import networks

    run = config(model="pix2pix", network="compact", width=16, predict="change")
    pushed = run.model_copy(update={"pushforward": 0.5})
    assert_described(networks.generator(run, 4, 3), estimate.generator(run))
    assert_described(networks.discriminator(run, 4, 3), estimate.discriminator(run))
    assert estimate.step_flop(pushed) - estimate.step_flop(run) == pytest.approx(
        2 * run.batch_size * macs(estimate.generator(run))
    )


def test_forward_passes_cost_what_the_tutorials_networks_cost() -> None:
    assert 2e-9 * macs(estimate.generator(config())) == pytest.approx(0.1035, abs=5e-5)
    assert 2e-9 * macs(estimate.generator(config(table1_literal=True))) == pytest.approx(
        0.1436, abs=5e-5
    )
    assert 2e-9 * macs(estimate.discriminator(config())) == pytest.approx(0.0207, abs=5e-5)
