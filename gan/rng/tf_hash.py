"""TensorFlow's side of `gan.rng.hash`: the functions of `gan.rng.tf_philox` by a hash that is
element-wise, and therefore cheap on a TPU.

Rows [a, b) equal that slice of the whole draw to the bit, and so do NumPy, eager execution, a graph
and XLA on a CPU, for normal numbers too: `normal` has no product whose rounding a compiler could
leave out by joining it with a sum (fused multiply-add), and no quotient that it could rearrange
(tests/unit/gan/rng/test_tf_hash.py). A GPU or TPU draws the same integers and masks; its square
roots and quotients may differ in the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import tensorflow as tf

from ganboard.gan.rng.hash import (
    FACTORS,
    LN_2,
    PARITY,
    PI,
    PI_SQUARED,
    ROOT_HALF,
    ROTATIONS,
    ROUNDS,
    TAN_LAST,
    threshold,
)
from ganboard.gan.rng.philox import Purpose

Function = TypeVar("Function", bound=Callable[..., object])


def _fused(function: Function) -> Function:
    """`function` compiled by XLA into one loop, where TensorFlow would run a kernel for each
    operation: a tenth of the time on a CPU. A TPU compiles the whole step unasked."""
    compiled = tf.function(function, jit_compile=True, autograph=False)

    def call(*arguments: object) -> object:
        return (function if tf.config.list_logical_devices("TPU") else compiled)(*arguments)

    return cast(Function, call)


@_fused
def normal(
    seed: int, purpose: int, draw: tf.Tensor, first_row: tf.Tensor, rows: int, width: int
) -> tf.Tensor:
    """Standard normal rows [rows, width] float32, beginning at row `first_row` of draw number
    `draw`.

    By Box and Muller (1958), of two words each: a radius of 32 bits, so that the largest value is
    6.76, and an angle of 2 ** 15 in half a circle, which shapes values below 5e-5 only. Always
    finite. Logarithm and tangent are the continued fractions of Abramowitz and Stegun 4.1.39 and
    4.3.94, to float32.
    """
    keys = _row_keys(seed, purpose, draw, first_row, rows)
    u = (tf.cast(_entries(keys[0], keys[1], width), tf.float32) + 0.5) * 2**-32
    # u = 2 ** exponent * m, with m in [sqrt(1 / 2), sqrt(2))
    above = tf.bitcast(u, tf.int32) - ROOT_HALF
    exponent = tf.bitwise.right_shift(above, 23)
    m = tf.bitcast(tf.bitwise.bitwise_and(above, 0x7FFFFF) + ROOT_HALF, tf.float32)
    ratio = (m - 1) / (m + 1)
    square = ratio * ratio
    below = 5 - 81 * square / (63 - 16 * square)
    below = 3 - 4 * square / below
    below = 1 - square / below
    powers = tf.cast(exponent * (-2 * LN_2), tf.float32) * 2**-24
    radius = tf.sqrt(powers - 4 * ratio / below)

    # the angle is 2 atan(tangent), between -pi / 2 and pi / 2: its sine has the distribution of the
    # sine of any angle
    word = tf.bitcast(_entries(keys[2], keys[3], width), tf.int32)
    odd = tf.bitwise.right_shift(word, 17) * 2 + 1
    square = tf.cast(odd * odd, tf.float32) * 2**-34
    below = 7 - 11 * square / (TAN_LAST - square)
    below = 5 - PI_SQUARED * square / below
    below = 3 - PI_SQUARED * square / below
    below = 1 - PI_SQUARED * square / below
    angle = PI * tf.cast(odd, tf.float32) * 2**-17
    return radius * (2 / (angle / below + below / angle))


@_fused
def keep(
    seed: int, mask: int, rate: float, draw: tf.Tensor, first_row: tf.Tensor, rows: int, width: int
) -> tf.Tensor:
    """Dropout mask number `mask` of a step: [rows, width] bool, true with probability 1 - rate, to
    the nearest 2 ** -32."""
    words = first_words(seed, Purpose.DROPOUT + mask, draw, first_row, rows, width)
    return tf.bitcast(words, tf.int32) >= threshold(rate)


@_fused
def masks(
    seed: int,
    rate: float,
    draw: tf.Tensor,
    first_row: tf.Tensor,
    rows: int,
    shapes: Sequence[tuple[int, ...]],
) -> list[tf.Tensor]:
    """Dropout masks [rows, *shape] of one step, numbered as `shapes` are."""
    return [
        tf.reshape(keep(seed, i, rate, draw, first_row, rows, math.prod(shape)), [rows, *shape])
        for i, shape in enumerate(shapes)
    ]


@_fused
def uniform(
    seed: int, purpose: int, draw: tf.Tensor, first_row: tf.Tensor, rows: int, width: int
) -> tf.Tensor:
    """Uniform rows [rows, width] float32 in [0, 1), multiples of 2 ** -24, beginning at row
    `first_row` of draw number `draw`."""
    words = first_words(seed, purpose, draw, first_row, rows, width)
    return tf.cast(tf.bitwise.right_shift(words, _word(8)), tf.float32) * 2**-24


def first_words(
    seed: int, purpose: int, draw: tf.Tensor, first_row: tf.Tensor, rows: int, width: int
) -> tf.Tensor:
    """The first word of each entry: [rows, width] uint32."""
    keys = _row_keys(seed, purpose, draw, first_row, rows)
    return _entries(keys[0], keys[1], width)


def _entries(first: tf.Tensor, second: tf.Tensor, width: int) -> tf.Tensor:
    column = tf.range(width, dtype=tf.int32)[None, :]
    column = tf.cast(column, tf.uint32)
    mixed = _mixed(tf.bitwise.bitwise_xor(column, first))
    return _mixed(tf.bitwise.bitwise_xor(mixed, second)) + column


def _mixed(x: tf.Tensor) -> tf.Tensor:
    x = _folded(x, 16) * _word(FACTORS[0])
    x = _folded(x, 15) * _word(FACTORS[1])
    return _folded(x, 15)


def _folded(x: tf.Tensor, bits: int) -> tf.Tensor:
    return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, _word(bits)))


def _word(value: int) -> tf.Tensor:
    return tf.constant(value, tf.uint32)


def _row_keys(
    seed: int, purpose: int, draw: tf.Tensor, first_row: tf.Tensor, rows: int
) -> list[tf.Tensor]:
    """Four words of each row, each [rows, 1] uint32: Threefry-4x32 as in `gan.rng.hash`."""
    draw = tf.cast(draw, tf.int64)
    row = tf.cast(first_row, tf.int32) + tf.range(rows, dtype=tf.int32)
    key = [_word(seed), _word(purpose), _word(0), _word(0)]
    key.append(_word(seed ^ purpose ^ PARITY))
    counter = [
        tf.cast(row, tf.uint32)[:, None],
        tf.cast(draw, tf.uint32),
        tf.cast(tf.bitwise.right_shift(draw, tf.constant(32, tf.int64)), tf.uint32),
        _word(0),
    ]
    a, b, c, d = (word + key[i] for i, word in enumerate(counter))
    for i in range(ROUNDS):
        first, second = ROTATIONS[i % 8]
        a, c = a + b, c + d
        b, d = _rotated(d, second), _rotated(b, first)
        b, d = tf.bitwise.bitwise_xor(b, c), tf.bitwise.bitwise_xor(d, a)
        if i % 4 == 3:
            n = i // 4 + 1
            a, b, c, d = (word + key[(n + j) % 5] for j, word in enumerate((a, b, c, d)))
            d += _word(n)
    return [a, b, c, d]


def _rotated(x: tf.Tensor, bits: int) -> tf.Tensor:
    left = tf.bitwise.left_shift(x, _word(bits))
    return tf.bitwise.bitwise_or(left, tf.bitwise.right_shift(x, _word(32 - bits)))
