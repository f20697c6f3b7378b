from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.layers.spectral_normalization import SpectralNormalization, normalized

RANDOM = np.random.default_rng(0)
KERNEL = tf.constant(RANDOM.normal(size=(3, 3, 4, 5)), tf.float32)
U = tf.constant(RANDOM.normal(size=(1, 5)), tf.float32)
INPUTS = tf.constant(RANDOM.normal(size=(2, 4, 4, 4)), tf.float32)


def made(policy: str = "float32") -> SpectralNormalization:
    inner = keras.layers.Conv2D(5, 3, padding="same", dtype=policy)
    layer = SpectralNormalization(inner, dtype=policy)
    layer.build([None, 4, 4, 4])
    inner.kernel.assign(KERNEL)
    inner.bias.assign([1.0, 2.0, 3.0, 4.0, 5.0])
    return layer


def test_the_largest_singular_value_becomes_one() -> None:
    divided, _ = normalized(KERNEL, U, 200)
    values = np.linalg.svd(tf.reshape(divided, [-1, 5]).numpy(), compute_uv=False)
    assert values[0] == pytest.approx(1, rel=1e-5)
    largest = np.linalg.svd(tf.reshape(KERNEL, [-1, 5]).numpy(), compute_uv=False)[0]
    np.testing.assert_allclose(divided * largest, KERNEL, rtol=1e-4)


def test_the_gradient_is_that_of_the_papers_equation_12() -> None:
    with tf.GradientTape() as tape:
        tape.watch(KERNEL)
        divided, u = normalized(KERNEL, U, 200)
        weight = tf.reshape(tf.range(180.0), KERNEL.shape)
        loss = tf.reduce_sum(divided * weight)
    left, values, right = np.linalg.svd(tf.reshape(KERNEL, [-1, 5]).numpy())
    outer = left[:, :1] @ right[:1]
    flat, direction = divided.numpy().reshape(-1, 5), weight.numpy().reshape(-1, 5)
    wanted = (direction - (direction * flat).sum() * outer) / values[0]
    found = tape.gradient(loss, KERNEL).numpy().reshape(-1, 5)
    np.testing.assert_allclose(found, wanted, atol=1e-3 * np.abs(wanted).max())
    np.testing.assert_allclose(np.abs(u.numpy()), np.abs(right[:1]), atol=1e-4)


def test_a_kernel_of_zeros_stays_and_so_does_its_vector() -> None:
    divided, moved = normalized(tf.zeros_like(KERNEL), U, 1)
    np.testing.assert_array_equal(divided, 0)
    np.testing.assert_array_equal(moved, U)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_a_call_divides_the_kernel_and_leaves_the_variable_alone(policy: str) -> None:
    layer = made(policy)
    before = layer.vector_u.numpy()
    output = layer(INPUTS, training=True)
    divided, moved = normalized(KERNEL, tf.constant(before), 1)
    wanted = tf.nn.conv2d(INPUTS, divided, 1, "SAME") + tf.range(1.0, 6.0)
    np.testing.assert_allclose(
        tf.cast(output, tf.float32), wanted, rtol=1e-5 if policy == "float32" else 0.05, atol=0.05
    )
    np.testing.assert_array_equal(layer.layer.kernel, KERNEL)
    np.testing.assert_allclose(layer.vector_u, moved, rtol=1e-6)
    assert np.abs(before - moved).max() > 1e-3

    still = layer.vector_u.numpy()
    again = layer(INPUTS, training=False)
    # from the vector of the call before, so one iteration later
    assert np.abs(np.asarray(tf.cast(again, tf.float32)) - wanted).max() > 1e-3
    np.testing.assert_array_equal(layer.vector_u, still)


def test_in_a_stateless_call_values_are_those_given() -> None:
    layer = made()
    zeros = [tf.zeros(v.shape) for v in (layer.layer.bias, layer.layer.kernel, layer.vector_u)]
    variables = (layer.layer.bias, layer.layer.kernel, layer.vector_u)
    given = [zeros[0], 2 * KERNEL, U]
    mapping = list(zip(variables, given, strict=True))
    with keras.StatelessScope(state_mapping=mapping) as scope:
        output = layer(INPUTS, training=True)
        moved = scope.get_current_value(layer.vector_u)
        kept = scope.get_current_value(layer.layer.kernel)
    divided, wanted = normalized(2 * KERNEL, U, 1)
    np.testing.assert_allclose(output, tf.nn.conv2d(INPUTS, divided, 1, "SAME"), atol=1e-4)
    np.testing.assert_allclose(moved, wanted, rtol=1e-6)
    np.testing.assert_array_equal(kept, 2 * KERNEL)
