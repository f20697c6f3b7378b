"""The hash generator in NumPy: the reference that `gan.rng.tf_hash` equals to the bit. Free of
TensorFlow.

An entry is a function of (seed, purpose, draw, global row, column), in two parts:

1. The key of a row, four words, is Threefry-4x32 with 20 rounds (Salmon et al. 2011, "Parallel
   random numbers: as easy as 1, 2, 3") of the counter (row, draw) under the key (seed, purpose). It
   is a bijection of the counter, so no two rows of a stream have equal keys.
2. The word in column c is P(P(c ^ k0) ^ k1) + c, where P is the 32-bit hash of least bias with two
   multiplications (hash-prospector, https://github.com/skeeto/hash-prospector, bias 0.107). Two
   keyed permutations in a row are an iterated Even-Mansour cipher (Bogdanov et al. 2012); adding c
   as Davies and Meyer do makes it a function instead of a permutation, so that words may repeat
   within a row. Words k2 and k3 of the key give a second word of the same entry.

Everything but the key of a row is element-wise on 32-bit integers: no counter is shared by several
numbers, so nothing is reshaped, cut or moved between lanes.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]

PARITY = 0x1BD11BDA
ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
ROUNDS = 20
FACTORS = 0x21F0AAAD, 0xD35A2D97

LN_2 = 11_629_080  # ln 2 in units of 2 ** -24
ROOT_HALF = 0x3F3504F3  # bits of sqrt(1 / 2) in float32
PI = math.pi
PI_SQUARED = math.pi**2
TAN_LAST = 99 / math.pi**2


def threefry(key: tuple[Words, ...], counter: tuple[Words, ...]) -> tuple[Words, ...]:
    """Threefry-4x32 with 20 rounds: four words of four key words and four counter words."""
    parity = PARITY ^ key[0] ^ key[1] ^ key[2] ^ key[3]
    keys = (*key, parity)
    a, b, c, d = (word + k for word, k in zip(counter, key, strict=True))
    for i in range(ROUNDS):
        first, second = ROTATIONS[i % 8]
        a, c = a + b, c + d
        b, d = _rotated(b, first) ^ a, _rotated(d, second) ^ c
        b, d = d, b  # the next round pairs the words the other way
        if i % 4 == 3:
            n = i // 4 + 1
            a, b, c, d = (word + keys[(n + j) % 5] for j, word in enumerate((a, b, c, d)))
            d = d + n
    return a, b, c, d


def row_keys(seed: int, purpose: int, draw: int, first_row: int, rows: int) -> tuple[Words, ...]:
    """Four key words [rows, 1] of each row."""
    row = np.arange(first_row, first_row + rows, dtype=np.uint32)[:, None]
    zero = np.zeros_like(row)
    key = (zero + np.uint32(seed), zero + np.uint32(purpose), zero, zero)
    low, high = np.uint32(draw & 0xFFFFFFFF), np.uint32(draw >> 32)
    return threefry(key, (row, zero + low, zero + high, zero))


def entry(first: Words, second: Words, column: Words) -> Words:
    """The words of `column` under two words of a row's key; the three broadcast."""
    return _mixed(_mixed(column ^ first) ^ second) + column


def words(
    seed: int, purpose: int, draw: int, first_row: int, rows: int, width: int
) -> tuple[Words, Words]:
    """Both words of each entry, each [rows, width]."""
    keys = row_keys(seed, purpose, draw, first_row, rows)
    column = np.arange(width, dtype=np.uint32)[None, :]
    return entry(keys[0], keys[1], column), entry(keys[2], keys[3], column)


def _mixed(x: Words) -> Words:
    x = (x ^ x >> np.uint32(16)) * np.uint32(FACTORS[0])
    x = (x ^ x >> np.uint32(15)) * np.uint32(FACTORS[1])
    return x ^ x >> np.uint32(15)


def _rotated(x: Words, bits: int) -> Words:
    return x << np.uint32(bits) | x >> np.uint32(32 - bits)


def kept(words: Words, rate: float) -> npt.NDArray[np.bool_]:
    """Dropout mask: true with probability 1 - rate. Words count as signed numbers, which a TPU
    compares quicker."""
    return words.view(np.int32) >= threshold(rate)


def threshold(rate: float) -> int:
    """The least signed word that dropout keeps."""
    return round(rate * 2**32) - 2**31


def uniform(words: Words) -> Floats:
    """Uniform numbers in [0, 1), multiples of 2 ** -24."""
    return (words >> 8).astype(np.float32) * np.float32(2**-24)


def normal(words: tuple[Words, Words]) -> Floats:
    """Standard normal numbers of both words of each entry: see `gan.rng.tf_hash.normal`."""
    u: Floats = (words[0].astype(np.float32) + np.float32(0.5)) * np.float32(2**-32)
    above = u.view(np.int32) - ROOT_HALF
    exponent = above >> 23
    m: Floats = ((above & 0x7FFFFF) + ROOT_HALF).view(np.float32)
    ratio = (m - 1) / (m + 1)
    square = ratio * ratio
    below = 5 - 81 * square / (63 - 16 * square)
    below = 3 - 4 * square / below
    below = 1 - square / below
    powers: Floats = (exponent * (-2 * LN_2)).astype(np.float32) * np.float32(2**-24)
    radius = np.sqrt(powers - 4 * ratio / below)

    odd = (words[1].view(np.int32) >> 17) * 2 + 1
    square = (odd * odd).astype(np.float32) * np.float32(2**-34)
    below = 7 - 11 * square / (TAN_LAST - square)
    below = 5 - PI_SQUARED * square / below
    below = 3 - PI_SQUARED * square / below
    below = 1 - PI_SQUARED * square / below
    angle: Floats = PI * odd.astype(np.float32) * np.float32(2**-17)
    return np.asarray(radius * (2 / (angle / below + below / angle)), np.float32)
