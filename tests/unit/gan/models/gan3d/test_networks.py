"""Both 3DGANs against the published layer lists, and the folded convolution against the one it
stands for."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.models.gan3d import architecture, networks
from ganboard.gan.models.gan3d.config import Config
from ganboard.gan.models.gan3d.upconv import Three, UpConv3D

ANGLE: architecture.Geometry = "51x51x25"
FIXED: architecture.Geometry = "25x25x25"


@pytest.mark.parametrize(
    ("geometry", "g", "d"),
    [
        (ANGLE, (1_365_047, 1_364_983), (87_402, 87_354)),
        (FIXED, (872_948, 872_808), (73_450, 73_402)),
    ],
)
def test_as_many_parameters_as_published(
    geometry: architecture.Geometry, g: tuple[int, int], d: tuple[int, int]
) -> None:
    for net, (total, trained) in (
        (networks.generator(Config(geometry=geometry)), g),
        (networks.discriminator(Config(geometry=geometry)), d),
    ):
        assert net.count_params() == total
        assert sum(int(np.prod(v.shape)) for v in net.trainable_variables) == trained


def test_maps_of_the_published_layers() -> None:
    shapes = [
        layer.output.shape[1:]
        for layer in networks.generator(Config(geometry=ANGLE)).layers
        if layer.name.startswith(("conv", "up"))
    ]
    assert shapes == [
        (49, 49, 41, 8),
        (50, 50, 38, 6),
        (51, 51, 35, 6),
        (52, 52, 32, 6),
        (52, 52, 28, 6),
        (52, 52, 26, 6),
        (51, 51, 25, 1),
    ]
    kept = [
        layer.output.shape[1:]
        for layer in networks.discriminator(Config(geometry=ANGLE)).layers
        if layer.name.startswith("dropout")
    ]
    assert tuple(kept) == architecture.masks(ANGLE)
    assert (
        networks.discriminator(Config(geometry=ANGLE)).get_layer("flatten").output.shape[1]
        == 19_152
    )
    shapes = [
        layer.output.shape[1:]
        for layer in networks.generator(Config(geometry=FIXED)).layers
        if layer.name.startswith(("conv", "up"))
    ]
    assert shapes == [(7, 7, 8, 64), (13, 14, 9, 6), (26, 26, 26, 6), (25, 25, 25, 1)]
    kept = [
        layer.output.shape[1:]
        for layer in networks.discriminator(Config(geometry=FIXED)).layers
        if layer.name.startswith("dropout")
    ]
    assert tuple(kept) == architecture.masks(FIXED)
    assert (
        networks.discriminator(Config(geometry=FIXED)).get_layer("flatten").output.shape[1]
        == 10_648
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("shape", "kernel", "factors", "pads"),
    [
        ((9, 9, 8, 2), (6, 6, 8), (6, 6, 6), (0, 0, 0)),  # both that 3DGAN has
        ((7, 7, 8, 3), (6, 5, 8), (2, 2, 2), (2, 2, 0)),
        ((5, 5, 4, 2), (3, 3, 8), (2, 2, 3), (1, 0, 3)),
        ((3, 4, 5, 1), (1, 2, 3), (3, 1, 2), (0, 1, 2)),
    ],
)
def test_the_folded_convolution_is_the_plain_one(
    shape: tuple[int, ...], kernel: Three, factors: Three, pads: Three
) -> None:
    """Values and all gradients, in float64, against Keras's three layers with the same weights."""
    options = {"initializer": keras.initializers.GlorotUniform(0), "dtype": "float64"}
    folded, plain = (
        UpConv3D(4, kernel, factors, pads, folded=way, **options) for way in (True, False)
    )
    x = tf.constant(np.random.default_rng(0).normal(size=(2, *shape)))
    reference = keras.Sequential(
        [
            keras.layers.UpSampling3D(factors, dtype="float64"),
            keras.layers.ZeroPadding3D(pads, dtype="float64"),
            keras.layers.Conv3D(4, kernel, dtype="float64"),
        ]
    )
    results = []
    for layer in (folded, plain, reference):
        layer(x)
        if layer is reference:
            layer.set_weights(folded.get_weights())
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
            loss = tf.reduce_sum(tf.sin(y))
        results.append(
            [y, *tape.gradient(loss, [x, *(v.value for v in layer.trainable_variables)])]
        )
    assert results[0][0].shape[1:] == folded.compute_output_shape(x.shape)[1:]
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
