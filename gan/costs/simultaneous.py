"""What a step costs that trains both networks from the same forward pass
(`gan.modeling.simultaneous`), from the layers of the networks. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence

from ganboard.gan.costs.layer import LayerCost, macs
from ganboard.gan.settings.adversarial import AdversarialConfig


def step_macs(
    config: AdversarialConfig,
    g_layers: Sequence[LayerCost],
    d_layers: Sequence[LayerCost],
    *,
    recompute: bool = False,
) -> int:
    """Multiply-accumulates of a training step for each image of the batch."""
    g, d = macs(g_layers), macs(d_layers)
    # A layer's backward pass costs its forward pass twice: for its weights, and for what entered,
    # which in a first layer nobody asks for
    train_g = 3 * g - g_layers[0].macs
    discriminator_pass = 3 * d - d_layers[0].macs
    # A penalty is a backward pass down to the image, differentiated by its weights and by what came
    # down, which begins with ones; that of wgan_gp has a forward pass of its own, whose logits
    # nobody asks for
    last = d_layers[-1].macs
    train_d = (
        2 * discriminator_pass
        + (3 * d - last) * (bool(config.r1) + bool(config.r2))
        + (4 * d - 2 * last) * (config.loss == "wgan_gp")
    )
    again = (2 + (config.loss == "wgan_gp")) * d * recompute
    return (
        config.d_steps * (train_d + again) + (config.d_steps - 1) * g + train_g + g * recompute + d
    )


def kept_bytes(
    config: AdversarialConfig,
    g_layers: Sequence[LayerCost],
    d_layers: Sequence[LayerCost],
    *,
    recompute: bool = False,
    joined: bool = False,
) -> int:
    """Bytes per image of a micro-batch that both nets keep for the backward pass.

    Real and generated images pass through D one after the other, and what the first left is gone or
    not there yet when most is kept; or both in one call where they are `joined`
    (`gan.modeling.simultaneous.joined`).
    """
    half = 4 if config.precision == "float32" else 2
    g, d = (sum(layer.kept(half, recompute) for layer in net) for net in (g_layers, d_layers))
    # a penalty keeps its backward pass, that of wgan_gp also a forward pass
    passes = 1 + joined + (config.r1 > 0) + (config.r2 > 0) + 2 * (config.loss == "wgan_gp")
    return g + passes * d
