"""The Keras models of pix2pix.

Batch norm takes moving statistics at inference, where the published one takes those of the batch: a
tile's result must not depend on which tiles are computed with it.
"""

from __future__ import annotations

import keras

from ganboard.gan.architecture import Join
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

    With predict=change the last input is 1 in the solid, where nothing changes.
    """
    height, width = frame or (config.side, config.side)
    picture = keras.Input((height, width, inputs), name="picture")
    keeps = mask_inputs(architecture.masks(config))
    made = Factory(config, 0).apply(architecture.generator(config, outputs), picture, keeps)
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
    logits = factory.apply(architecture.discriminator(config.width), both)
    return keras.Model([picture, target], logits, name="discriminator")
