"""ganboard's noise and dropout masks in JAX: `ganboard.gan.rng.tf_philox` with Philox written out
(Salmon et al. 2011), which is a function of (seed, purpose, draw, row) as there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from ganboard.gan.rng.philox import Purpose, philox_key

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_WORDS = 4  # 32 bit each, of one counter


def normal(
    seed: int, purpose: int, draw: jax.Array, first_row: int, rows: int, width: int
) -> jax.Array:
    """Standard normal rows [rows, width] float32 by Box and Muller's method, as TensorFlow's."""
    raw = words(seed, purpose, draw, first_row, rows, width).reshape(rows, -1, 2)
    unit = jax.lax.bitcast_convert_type(raw & 0x7FFFFF | 0x3F800000, jnp.float32) - 1
    radius = jnp.sqrt(-2 * jnp.log(jnp.maximum(unit[..., 0], 1e-7)))
    angle = 2 * math.pi * unit[..., 1]
    pairs = jnp.stack([jnp.sin(angle) * radius, jnp.cos(angle) * radius], -1)
    return pairs.reshape(rows, -1)[:, :width]


def masks(
    seed: int,
    rate: float,
    draw: jax.Array,
    first_row: int,
    rows: int,
    shapes: Sequence[tuple[int, ...]],
) -> list[jax.Array]:
    """Dropout masks [rows, *shape] of one step, true with probability 1 - rate."""
    least = round(rate * 2**16) - 2**15
    made = []
    for i, shape in enumerate(shapes):
        width = math.prod(shape)
        raw = words(seed, Purpose.DROPOUT + i, draw, first_row, rows, -(-width // 2))
        halves = jax.lax.bitcast_convert_type(raw, jnp.int16).reshape(rows, -1)[:, :width]
        made.append((halves >= least).reshape(rows, *shape))
    return made


def words(
    seed: int, purpose: int, draw: jax.Array, first_row: int, rows: int, width: int
) -> jax.Array:
    """Raw rows [rows, width] uint32; each row begins at a whole counter, and counters must fit into
    32 bits."""
    counters = -(-width // _WORDS)
    row = jnp.arange(first_row, first_row + rows, dtype=jnp.uint32)[:, None]
    index = row * jnp.uint32(counters) + jnp.arange(counters, dtype=jnp.uint32)
    zero = jnp.zeros_like(index)
    counter = [index, zero, jnp.broadcast_to(draw.astype(jnp.uint32), index.shape), zero]
    key = philox_key(seed, purpose)
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        high_0, low_0 = _product(counter[0], _MULTIPLIERS[0])
        high_1, low_1 = _product(counter[2], _MULTIPLIERS[1])
        counter = [
            high_1 ^ counter[1] ^ jnp.uint32(keys[0]),
            low_1,
            high_0 ^ counter[3] ^ jnp.uint32(keys[1]),
            low_0,
        ]
        keys = [(key + weyl) & 0xFFFFFFFF for key, weyl in zip(keys, _WEYL, strict=True)]
    return jnp.stack(counter, -1).reshape(rows, -1)[:, :width]


def _product(x: jax.Array, factor: int) -> tuple[jax.Array, jax.Array]:
    """Upper and lower half of a 64-bit product, by halves of 16 bits: accelerators have no more."""
    low, high = x & 0xFFFF, x >> 16
    f_low, f_high = jnp.uint32(factor & 0xFFFF), jnp.uint32(factor >> 16)
    middle = high * f_low + (low * f_low >> 16)
    other = low * f_high + (middle & 0xFFFF)
    return high * f_high + (middle >> 16) + (other >> 16), x * jnp.uint32(factor)
