"""The Keras models of pix2pix.

Batch norm takes moving statistics at inference, where the published one takes those of the batch: a
tile's result must not depend on which tiles are computed with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import keras

from ganboard.gan.architecture import Conv, ConvTranspose, Join, Layer, Shape, entering
from ganboard.gan.devices import runtime
from ganboard.gan.layers.factory import Factory, mask_inputs
from ganboard.gan.models.pix2pix import architecture
from ganboard.gan.models.pix2pix.config import Config

# what a change is given in: near the standard deviation, 0.03 to 0.05, of the difference of
# neighbouring frames of dataset=vortex_street
CHANGE = 0.05


def generator(
    config: Config, inputs: int, outputs: int, frame: tuple[int, int] | None = None
) -> keras.Model:
    """(pictures [B, H, W, inputs], keep masks of `masks` or None) -> pictures [B, H, W, outputs]
    float32, in [-1, 1] with predict=frame. H and W are those of the window, or of a `frame` that
    `tiles.whole` allows.

    With predict=change the first `outputs` inputs are what changes, and the last one is 1 in the
    solid, where nothing does.
    """
    height, width = frame or (config.side, config.side)
    picture = keras.Input((height, width, inputs), name="picture")
    keeps = mask_inputs(architecture.masks(config))
    layers = _formed(config, (height, width, inputs), architecture.generator(config, outputs))
    made = Factory(config, 0).apply(layers, picture, keeps)
    if config.predict == "change":
        made = picture[..., :outputs] + CHANGE * made * (1.0 - picture[..., -1:])
    return keras.Model([picture, *keeps], made, name="generator")


def discriminator(config: Config, inputs: int, outputs: int) -> keras.Model:
    """(pictures [B, side, side, inputs], targets [B, side, side, outputs]) -> logits [B, n, n, 1]
    float32, each of a 70x70 patch."""
    size, factory = config.side, Factory(config, 1)
    picture = keras.Input((size, size, inputs), name="picture")
    target = keras.Input((size, size, outputs), name="target")
    both = factory.make(Join("join_1", "target", outputs))([picture, target])
    layers = architecture.discriminator(config.width)
    logits = factory.apply(_formed(config, (size, size, inputs + outputs), layers), both)
    return keras.Model([picture, target], logits, name="discriminator")


def _formed(config: Config, shape: Shape, layers: Sequence[Layer]) -> list[Layer]:
    """`layers` with the strided convolutions on few places as products of patches, where that
    pays: on CPUs, measured for 16 and for 64 pictures (`gan.layers.patches`)."""
    most = 4 if config.precision == "float32" else 8  # places along an edge of the larger map

    def formed(layer: Layer, at: Shape) -> Layer:
        if not isinstance(layer, Conv | ConvTranspose) or layer.strides == 1:
            return layer
        few = max(*at[:-1], *layer.output(at)[:-1]) <= most
        return replace(layer, form="patches") if few else layer

    if runtime.accelerated():
        return list(layers)
    return [formed(layer, at) for layer, at in entering(shape, layers)]
