"""TensorFlow's side of `gan.rng.philox`: noise and dropout masks, row by row of the global batch.

Measured with TensorFlow 2.21 on CPU: Philox yields four 32-bit numbers per counter, so a row begins
at a whole counter only if its width is a multiple of four. Rows are therefore drawn padded to one
and cut. Then rows [a, b) equal that slice of the whole draw to the bit, eagerly, in a graph and
under XLA alike, for uniform and for normal numbers (tests/unit/gan/rng/test_tf_philox.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import tensorflow as tf

from ganboard.gan.rng.philox import Purpose, philox_key

_PHILOX = 1  # tf.random.Algorithm.PHILOX
_NUMBERS_PER_COUNTER = 4


def normal(
    seed: int, purpose: int, draw: tf.Tensor, first_row: tf.Tensor, rows: int, width: int
) -> tf.Tensor:
    """Standard normal rows [rows, width] float32, beginning at row `first_row` of draw number
    `draw`."""
    return _draw(tf.raw_ops.StatelessRandomNormalV2, seed, purpose, draw, first_row, rows, width)


def keep(
    seed: int, mask: int, rate: float, draw: tf.Tensor, first_row: tf.Tensor, rows: int, width: int
) -> tf.Tensor:
    """Dropout mask number `mask` of a step: [rows, width] bool, true with probability 1 - rate, to
    the nearest 1 / 65536.

    Half a word is enough for each entry: masks were the costliest numbers of a step.
    """
    words = _draw(
        partial(tf.raw_ops.StatelessRandomUniformFullIntV2, dtype=tf.int32),
        seed,
        Purpose.DROPOUT + mask,
        draw,
        first_row,
        rows,
        -(-width // 2),
    )
    halves = tf.reshape(tf.bitcast(words, tf.int16), [rows, -1])[:, :width]
    return halves >= tf.constant(round(rate * 2**16) - 2**15, tf.int16)


def masks(
    seed: int,
    rate: float,
    draw: tf.Tensor,
    first_row: tf.Tensor,
    rows: int,
    shapes: Sequence[tuple[int, ...]],
) -> list[tf.Tensor]:
    """Dropout masks [rows, *shape] of one step, numbered as `shapes` are."""
    flat = [
        keep(seed, i, rate, draw, first_row, rows, math.prod(shape))
        for i, shape in enumerate(shapes)
    ]
    return [tf.reshape(mask, [rows, *shape]) for mask, shape in zip(flat, shapes, strict=True)]


def uniform(
    seed: int, purpose: int, draw: tf.Tensor, first_row: tf.Tensor, rows: int, width: int
) -> tf.Tensor:
    """Uniform rows [rows, width] float32 in [0, 1), beginning at row `first_row` of draw number
    `draw`."""
    return _draw(tf.raw_ops.StatelessRandomUniformV2, seed, purpose, draw, first_row, rows, width)


def _draw(
    op: Callable[..., tf.Tensor],
    seed: int,
    purpose: int,
    draw: tf.Tensor,
    first_row: tf.Tensor,
    rows: int,
    width: int,
) -> tf.Tensor:
    counters = -(-width // _NUMBERS_PER_COUNTER)
    counter = tf.stack([tf.cast(first_row, tf.uint64) * counters, tf.cast(draw, tf.uint64)])
    key = tf.constant([philox_key(seed, purpose)], tf.uint64)
    return op(shape=[rows, counters * _NUMBERS_PER_COUNTER], key=key, counter=counter, alg=_PHILOX)[
        :, :width
    ]
