"""Statistics of the hash generator, with fixed arguments and bounds that a perfect generator would
exceed once in 10,000 tests or less. `python -m tests.rng_battery` tests many more numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from ganboard.gan.rng import hash as hashed
from ganboard.gan.rng.philox import Purpose

ROWS, WIDTH = 256, 1024
# what an entry is a function of, and the bits of each argument
ARGUMENTS = {"seed": 31, "purpose": 5, "draw": 63, "row": 31, "column": 23}
P_LEAST = 1e-4


def at(**changes: np.ndarray) -> tuple[hashed.Words, hashed.Words]:
    """Both words of entries whose arguments are arrays [n, 1]; those not named are ordinary."""
    usual = {"seed": 3, "purpose": Purpose.NOISE, "draw": 1234, "row": 17, "column": 55}
    arguments = np.broadcast_arrays(
        *(np.asarray(changes.get(k, v), np.uint64) for k, v in usual.items())
    )
    seed, purpose, low, row, column = (a.astype(np.uint32) for a in arguments)
    high = (arguments[2] >> np.uint64(32)).astype(np.uint32)
    zero = np.zeros_like(seed)
    keys = hashed.threefry((seed, purpose, zero, zero), (row, low, high, zero))
    return hashed.entry(keys[0], keys[1], column), hashed.entry(keys[2], keys[3], column)


def both(words: tuple[hashed.Words, hashed.Words]) -> Iterator[hashed.Words]:
    yield from (word.ravel() for word in words)


def block(seed: int = 3, purpose: int = Purpose.DROPOUT, draw: int = 5) -> hashed.Words:
    return hashed.words(seed, purpose, draw, 0, ROWS, WIDTH)[0]


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def test_row_keys_are_the_published_threefry() -> None:
    # kat_vectors of Random123: counter, then key, of zeros, ones and the digits of pi
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    pi += [0xA4093822, 0x299F31D0, 0x082EFA98, 0xEC4E6C89]
    for given, wanted in (
        ([0] * 8, [0x9C6CA96A, 0xE17EAE66, 0xFC10ECD4, 0x5256A7D8]),
        ([0xFFFFFFFF] * 8, [0x2A881696, 0x57012287, 0xF6C7446E, 0xA16A6732]),
        (pi, [0x59CD1DBB, 0xB8879579, 0x86B5D00C, 0xAC8B6D84]),
    ):
        words = tuple(np.array([word], np.uint32) for word in given)
        assert [int(word[0]) for word in hashed.threefry(words[4:], words[:4])] == wanted


def test_numbers_are_the_same_for_ever() -> None:
    # The promise behind every resumed run
    first, second = hashed.words(1, Purpose.NOISE, 2**40 + 3, 2**31 - 1, 1, 4)
    assert first.tolist() == [[444259751, 1963252558, 3895063269, 1927888952]]
    assert second.tolist() == [[498692070, 2762753845, 3165223654, 1240735850]]


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_every_bit_of_every_argument_flips_half_of_the_bits(argument: str) -> None:
    samples, bits = 4096, ARGUMENTS[argument]
    spread = np.arange(samples, dtype=np.uint64)[:, None] * np.uint64(0x9E3779B97F4A7C15)
    values = spread % np.uint64(2**bits)
    # purposes are few: other columns make the samples
    columns = np.arange(samples, dtype=np.uint64)[:, None] if argument == "purpose" else None
    others = {} if columns is None else {"column": columns}
    flips = np.uint64(1) << np.arange(bits, dtype=np.uint64)
    for before, after in zip(
        at(**others, **{argument: values}), at(**others, **{argument: values ^ flips}), strict=True
    ):
        changed = (before ^ after)[..., None] >> np.arange(32, dtype=np.uint32) & np.uint32(1)
        share = changed.mean(0)  # [bits of the argument, bits of the word]
        # two-sided binomial bound for all pairs of bits together
        sigmas = stats.norm.isf(P_LEAST / 2 / share.size)
        assert np.abs(share - 0.5).max() < sigmas * 0.5 / samples**0.5


@pytest.mark.parametrize("shift", [0, 8, 16, 24])
@pytest.mark.parametrize("word", [0, 1])
def test_bytes_are_uniform(shift: int, word: int) -> None:
    words = hashed.words(3, Purpose.DROPOUT, 5, 0, ROWS, WIDTH)[word]
    counts = np.bincount((words >> np.uint32(shift) & np.uint32(255)).ravel(), minlength=256)
    assert P_LEAST < stats.chisquare(counts).pvalue < 1 - P_LEAST


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_neighbours_are_independent(argument: str) -> None:
    count = min(1 << 17, 1 << ARGUMENTS[argument])
    more = (1 << 17) // count
    values = np.arange(count, dtype=np.uint64)[:, None]
    columns = {} if more == 1 else {"column": np.arange(more, dtype=np.uint64)[None, :]}
    for words in at(**columns, **{argument: values}):
        for lag in (1, 2, 16):
            a, b = words[:-lag].ravel(), words[lag:].ravel()
            assert abs(correlation(a, b)) < 4 / a.size**0.5
            # the highest bits of both in a table: dependence that is not linear shows there
            table = np.bincount((a >> np.uint32(28)) * 16 + (b >> np.uint32(28)), minlength=256)
            assert stats.chi2_contingency(table.reshape(16, 16)).pvalue > P_LEAST


def test_rows_and_columns_do_not_add_up() -> None:
    # the four corners of a square cancel where words are f(row) ^ g(column)
    words = block()
    corners = words[:-1, :-1] ^ words[:-1, 1:] ^ words[1:, :-1] ^ words[1:, 1:]
    counts = np.bincount((corners[::2, ::2] >> np.uint32(24)).ravel(), minlength=256)
    assert stats.chisquare(counts).pvalue > P_LEAST


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
def test_uniform_and_normal_numbers_have_their_distributions(seed: int) -> None:
    words = hashed.words(seed, Purpose.NOISE, 0, 0, ROWS, WIDTH)
    uniform, normal = hashed.uniform(words[0]).ravel(), hashed.normal(words).ravel()
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert stats.kstest(uniform, "uniform").pvalue > P_LEAST
    assert stats.kstest(normal, "norm").pvalue > P_LEAST
    count = normal.size
    assert abs(normal.mean()) < 4 / count**0.5
    assert abs(normal.var() - 1) < 4 * (2 / count) ** 0.5
    assert abs(stats.skew(normal)) < 4 * (6 / count) ** 0.5
    assert abs(stats.kurtosis(normal)) < 4 * (24 / count) ** 0.5
    for lag in (1, WIDTH):
        assert abs(correlation(normal[:-lag], normal[lag:])) < 4 / count**0.5
        assert abs(correlation(normal[:-lag] ** 2, normal[lag:] ** 2)) < 4 / count**0.5


def test_normal_numbers_are_finite_and_near_the_formula_at_every_edge() -> None:
    edges = [0, 1, 2, 255, 2**17 - 1, 2**17, 2**31 - 1, 2**31, 2**32 - 129, 2**32 - 1]
    edges += [3_037_000_499, 3_037_000_500]  # sqrt(1 / 2), where the exponent changes
    first, second = np.meshgrid(np.array(edges, np.uint32), np.array(edges, np.uint32))
    found = hashed.normal((first, second))
    assert np.isfinite(found).all()
    assert 6.7 < np.abs(found).max() < 6.8
    words = hashed.words(0, Purpose.NOISE, 0, 0, ROWS, WIDTH)
    u = (words[0].astype(np.float64) + 0.5) / 2**32
    odd = (words[1].view(np.int32) >> 17) * 2 + 1
    wanted = np.sqrt(-2 * np.log(u)) * np.sin(np.pi * odd / 2**16)
    error = np.abs(hashed.normal(words) - wanted)
    assert error[u < 0.9].max() < 2e-6
    assert error.max() < 1e-4  # u is a float32 near 1


@pytest.mark.parametrize("rate", [0.2, 0.3, 0.5])
def test_masks_of_layers_steps_rows_and_columns_are_independent(rate: float) -> None:
    def kept(mask: int, draw: int) -> np.ndarray:
        return hashed.kept(block(purpose=Purpose.DROPOUT + mask, draw=draw), rate)

    masks = [kept(mask, draw) for mask in (0, 1, 3) for draw in (0, 16, 17)]
    pairs = [(a, b) for i, a in enumerate(masks) for b in masks[:i]]
    pairs += [(masks[0][1:], masks[0][:-1]), (masks[0][:, 1:], masks[0][:, :-1])]
    deviation = 4 * (rate * (1 - rate) / masks[0].size) ** 0.5
    assert all(abs(mask.mean() - (1 - rate)) < deviation for mask in masks)
    assert all(abs(correlation(a, b)) < 4 / a.size**0.5 for a, b in pairs)
    # and no row or column is kept more often than chance lets it
    for axis in (0, 1):
        counts = masks[0].sum(axis)
        spread = masks[0].shape[axis] * rate * (1 - rate)
        statistic = ((counts - masks[0].shape[axis] * (1 - rate)) ** 2 / spread).sum()
        assert P_LEAST < stats.chi2.sf(statistic, counts.size) < 1 - P_LEAST


def test_blocks_of_other_seeds_purposes_and_draws_share_no_rows() -> None:
    blocks = [
        block(),
        block(seed=4),
        block(purpose=Purpose.NOISE),
        block(draw=6),
        block(draw=5 + 2**32),
        block(seed=5, draw=3),
    ]
    rows = {row.tobytes() for words in blocks for row in words}
    assert len(rows) == ROWS * len(blocks)
    for a, b in pairwise(blocks):
        # equal words in equal places: 2 ** 18 in 2 ** 32 by chance
        assert (a == b).sum() <= 2
        assert abs(correlation(a, b)) < 4 / a.size**0.5


def test_words_repeat_within_a_row_as_often_as_chance_has_it() -> None:
    # a permutation of the columns would never repeat one: 2 ** 20 * (2 ** 20 - 1) / 2 ** 33 pairs
    count, rows = 1 << 20, 2
    words = hashed.words(0, Purpose.DROPOUT, 0, 0, rows, count)[0]
    repeats = sum(count - len(np.unique(row)) for row in words)
    assert abs(repeats - 128 * rows) < 4 * (128 * rows) ** 0.5


@pytest.mark.parametrize(
    "flaw",
    [lambda words: words & np.uint32(0xFFFFFFFE), lambda words: words | words >> np.uint32(1)],
)
def test_the_bounds_find_a_flaw(flaw: Callable[[np.ndarray], np.ndarray]) -> None:
    counts = np.bincount((flaw(block()) & np.uint32(255)).ravel(), minlength=256)
    assert stats.chisquare(counts).pvalue < P_LEAST
