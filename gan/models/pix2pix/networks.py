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


def generator(config: Config, size: int, inputs: int, outputs: int) -> keras.Model:
    """(pictures [B, size, size, inputs], keep masks of `masks` or None) -> pictures [B, size, size,
    outputs] float32 in [-1, 1]."""
    picture = keras.Input((size, size, inputs), name="picture")
    keeps = mask_inputs(architecture.masks(size))
    made = Factory(config, 0).apply(architecture.generator(size, outputs), picture, keeps)
    return keras.Model([picture, *keeps], made, name="generator")


def discriminator(config: Config, size: int, inputs: int, outputs: int) -> keras.Model:
    """(pictures [B, size, size, inputs], targets [B, size, size, outputs]) -> logits [B, n, n, 1]
    float32, each of a 70x70 patch."""
    factory = Factory(config, 1)
    picture = keras.Input((size, size, inputs), name="picture")
    target = keras.Input((size, size, outputs), name="target")
    both = factory.make(Join("join_1", "target", outputs))([picture, target])
    logits = factory.apply(architecture.discriminator(), both)
    return keras.Model([picture, target], logits, name="discriminator")
