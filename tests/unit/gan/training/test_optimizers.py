"""The fused updates against Keras's own optimizers."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import parse
from ganboard.gan.training import optimizers

GRADIENTS = [
    np.random.default_rng(i).normal(size=(4, 3)).astype(np.float32) * 10.0**-i for i in range(5)
]


def walked(optimizer: keras.Optimizer) -> np.ndarray:
    variable = keras.Variable(np.ones((4, 3), np.float32))
    optimizer.build([variable])
    for gradient in GRADIENTS:
        optimizer.apply([tf.constant(gradient)], [variable])
    assert int(optimizer.iterations.value) == len(GRADIENTS)
    return variable.numpy()


@pytest.mark.parametrize(
    ("changes", "keras_own"),
    [
        ({"optimizer": "adam", "beta_1": 0.5}, lambda: keras.optimizers.Adam(0.01, beta_1=0.5)),
        (
            {"optimizer": "adam", "beta_2": 0.9, "epsilon": 1e-3},
            lambda: keras.optimizers.Adam(0.01, beta_2=0.9, epsilon=1e-3),
        ),
        ({"optimizer": "sgd", "beta_1": 0.0}, lambda: keras.optimizers.SGD(0.01)),
        ({"optimizer": "sgd", "beta_1": 0.9}, lambda: keras.optimizers.SGD(0.01, momentum=0.9)),
        ({"optimizer": "rmsprop", "rho": 0.99}, lambda: keras.optimizers.RMSprop(0.01, rho=0.99)),
    ],
)
def test_updates_are_those_of_keras(changes: dict[str, Any], keras_own: Any) -> None:
    ours = walked(optimizers.make(parse(changes), 0.01))
    np.testing.assert_allclose(ours, walked(keras_own()), rtol=2e-6, atol=1e-7)
    assert np.abs(ours - 1).max() > 1e-3


def test_the_rate_can_be_set_and_the_loss_scale_is_one_without_float16() -> None:
    optimizer = optimizers.make(parse({}), 0.01)
    optimizer.build([keras.Variable(np.ones(2, np.float32))])
    optimizers.set_rate(optimizer, tf.constant(0.5))
    assert float(optimizer.learning_rate.value) == 0.5
    assert float(optimizers.loss_scale(optimizer)) == 1
    scaled = optimizers.make(parse({"precision": "mixed_float16"}), 0.01)
    scaled.build([keras.Variable(np.ones(2, np.float32))])
    assert float(optimizers.loss_scale(scaled)) == 32768
    optimizers.set_rate(scaled, tf.constant(0.25))
    assert float(scaled.learning_rate.value) == 0.25
