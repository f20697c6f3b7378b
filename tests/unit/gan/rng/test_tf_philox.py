from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.rng import tf_philox
from ganboard.gan.rng.philox import Purpose


def draw_normal(draw: int, first: int, rows: int, width: int) -> tf.Tensor:
    return tf_philox.normal(3, Purpose.NOISE, tf.constant(draw), tf.constant(first), rows, width)


@pytest.mark.parametrize("width", [1, 3, 4, 100, 101])
def test_a_replica_draws_exactly_its_rows_of_the_global_batch(width: int) -> None:
    whole = draw_normal(5, 0, 12, width).numpy()
    for first, rows in ((0, 4), (4, 4), (8, 4), (3, 9)):
        np.testing.assert_array_equal(
            draw_normal(5, first, rows, width).numpy(), whole[first : first + rows]
        )


@pytest.mark.parametrize("compiled", [False, True])
def test_graph_and_xla_give_the_eager_numbers(compiled: bool) -> None:
    function = tf.function(lambda: draw_normal(5, 4, 8, 101), jit_compile=compiled)
    np.testing.assert_array_equal(function().numpy(), draw_normal(5, 4, 8, 101).numpy())
    masks = tf.function(
        lambda: tf_philox.keep(3, 1, 0.3, tf.constant(5), tf.constant(4), 8, 101),
        jit_compile=compiled,
    )
    np.testing.assert_array_equal(
        masks().numpy(), tf_philox.keep(3, 1, 0.3, tf.constant(5), tf.constant(4), 8, 101).numpy()
    )


def test_draws_purposes_and_seeds_share_no_numbers() -> None:
    def draw(seed: int, purpose: Purpose, number: int) -> np.ndarray:
        return (
            tf_philox.normal(seed, purpose, tf.constant(number), tf.constant(0), 64, 64)
            .numpy()
            .ravel()
        )

    drawn = [
        draw(0, Purpose.NOISE, 0),
        draw(0, Purpose.NOISE, 1),
        draw(1, Purpose.NOISE, 0),
        draw(0, Purpose.GRID, 0),
    ]
    for i, a in enumerate(drawn):
        assert abs(a.mean()) < 0.05
        assert abs(a.std() - 1) < 0.05
        assert all(abs(np.corrcoef(a, b)[0, 1]) < 0.06 for b in drawn[:i])


def test_masks_keep_the_stated_share_and_differ_by_number() -> None:
    masks = [
        tf_philox.keep(0, i, 0.3, tf.constant(0), tf.constant(0), 64, 1000).numpy()
        for i in range(4)
    ]
    for i, mask in enumerate(masks):
        assert abs(mask.mean() - 0.7) < 0.01
        assert all(0.4 < (mask ^ other).mean() < 0.44 for other in masks[:i])  # 2 x 0.3 x 0.7
