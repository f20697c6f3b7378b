from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.layers import keyed
from ganboard.gan.layers.keyed import Request

VALUES = tf.constant(np.random.default_rng(0).normal(size=(2, 3, 3, 4)), tf.float32)
NOISE = np.random.default_rng(1).normal(size=(2, 3, 3, 4)).astype(np.float32)
KEEP = NOISE > 0

LAYERS: dict[str, tuple[Any, Request, np.ndarray, Any]] = {
    "Dropout": (
        keyed.Dropout(0.2),
        Request("keep", (3, 3, 4), 0.2),
        KEEP,
        lambda x: np.where(KEEP, x / 0.8, 0),
    ),
    "Dropout of places": (
        keyed.Dropout(0.2, noise_shape=(None, 3, 3, 1)),
        Request("keep", (3, 3, 1), 0.2),
        KEEP[..., :1],
        lambda x: np.where(KEEP[..., :1], x / 0.8, 0),
    ),
    "SpatialDropout2D": (
        keyed.SpatialDropout2D(0.5),
        Request("keep", (1, 1, 4), 0.5),
        KEEP[:, :1, :1],
        lambda x: np.where(KEEP[:, :1, :1], x * 2, 0),
    ),
    "GaussianNoise": (
        keyed.GaussianNoise(0.3),
        Request("normal", (3, 3, 4)),
        NOISE,
        lambda x: x + 0.3 * NOISE,
    ),
    "GaussianDropout": (
        keyed.GaussianDropout(0.2),
        Request("normal", (3, 3, 4)),
        NOISE,
        lambda x: x * (1 + 0.5 * NOISE),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_does_with_its_numbers_what_keras_does(name: str) -> None:
    layer, request, numbers, wanted = LAYERS[name]
    with keyed.recording() as asked:
        np.testing.assert_allclose(layer(VALUES, training=True).shape, VALUES.shape)
    assert asked == [request]
    with keyed.given([tf.constant(numbers)]):
        found = layer(VALUES, training=True)
    np.testing.assert_allclose(found, wanted(VALUES.numpy()), rtol=1e-6)
    np.testing.assert_array_equal(layer(VALUES, training=False), VALUES)


def test_a_rate_of_zero_asks_for_nothing() -> None:
    with keyed.recording() as asked:
        for layer in (keyed.Dropout(0), keyed.GaussianNoise(0), keyed.GaussianDropout(0)):
            np.testing.assert_array_equal(layer(VALUES, training=True), VALUES)
    assert asked == []
