"""Every random number of a run as a pure function of (seed, purpose, position). Free of TensorFlow.

Philox is a counter-based generator (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2,
3"): number n of stream k is computed from (k, n) alone. So nothing random is ever saved, a resumed
run continues the same streams, and a replica draws exactly its own rows. Only raw Philox words are
used, because NumPy promises their values for ever, unlike those of its distributions and
permutations.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt


class Purpose(IntEnum):
    """What a stream is for; equal seeds with different purposes share no numbers. Values are part
    of the checkpoint promise."""

    WEIGHTS = 1
    ORDER = 2
    NOISE = 3
    GRID = 4
    PROJECTION = 5
    QUALITY = 6
    PENALTY = 7
    FLIPS = 8
    WINDOW = 9
    AUGMENT_REAL = 10
    AUGMENT_FAKE = 11
    INPUT_NOISE = 12
    PUSHFORWARD = 13
    DROPOUT = 16  # 16 to 31: one stream for every mask of a step
    LAYERS = 64  # 64 to LAST_LAYER: one for every call of a keyed layer in a step


LAST_LAYER = 255  # a purpose has 8 bits


def philox_key(seed: int, purpose: int) -> int:
    """Key of one stream (64 bit)."""
    return seed << 8 | purpose


def words(seed: int, purpose: Purpose, draw: int, count: int) -> npt.NDArray[np.uint64]:
    """`count` raw 64-bit words [count] of draw number `draw`."""
    generator = np.random.Philox(key=philox_key(seed, purpose), counter=[0, draw, 0, 0])
    return np.asarray(generator.random_raw(count), np.uint64)


def order(seed: int, epoch: int, examples: int) -> npt.NDArray[np.int32]:
    """Order of the examples in `epoch` (from 1): a permutation [examples], each as likely as any
    other."""
    return np.argsort(words(seed, Purpose.ORDER, epoch, examples), kind="stable").astype(np.int32)


def layer_seed(seed: int, net: int, layer: int) -> int:
    """Seed (31 bit) of the initial weights of one layer of net 0 (generator) or 1
    (discriminator)."""
    return int(words(seed, Purpose.WEIGHTS, net << 16 | layer, 1)[0] >> np.uint64(33))


def signs(seed: int, net: int, tensor: int, axis: int, count: int) -> npt.NDArray[np.bool_]:
    """`count` fair coin flips [count]: the entries +1 and -1 of one random axis."""
    raw = words(seed, Purpose.PROJECTION, net << 32 | tensor << 8 | axis, -(-count // 64))
    return np.unpackbits(raw.astype("<u8").view(np.uint8), count=count).view(np.bool_)
