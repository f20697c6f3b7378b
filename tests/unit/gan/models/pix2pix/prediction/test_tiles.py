"""Tiles of a frame and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganboard.gan.models.pix2pix.prediction.tiles import (
    Group,
    TilingError,
    assign,
    group,
    merge,
    split,
    ungroup,
)

sizes = st.tuples(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 7), st.integers(1, 7), st.integers(1, 3)
)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def box(frame: np.ndarray) -> np.ndarray:
    """5x5 mean with y periodic and the last columns repeated, summed in one fixed order so that
    equal pixels give equal bits."""
    padded = np.pad(
        np.pad(frame, ((2, 2), (0, 0), (0, 0)), mode="wrap"), ((0, 0), (2, 2), (0, 0)), mode="edge"
    )
    height, width = frame.shape[:2]
    return np.asarray(
        sum(padded[y : y + height, x : x + width] for y in range(5) for x in range(5))
        / np.float32(25)
    )


@settings(deadline=None)
@given(sizes, st.data())
def test_what_is_split_merges_to_the_bit(size: tuple[int, ...], data: st.DataObject) -> None:
    rows, columns, height, width, depth = size
    halo = data.draw(st.integers(0, min(height, width)))
    blend = data.draw(st.integers(0, min(halo, min(height, width) // 2)))
    frame = noise(rows * height, columns * width, depth)
    made = split(frame, (height, width), halo)
    assert made.shape == (rows * columns, height + 2 * halo, width + 2 * halo, depth)
    assert np.array_equal(merge(made, frame.shape[:2], (height, width), halo, blend=blend), frame)


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 7), st.integers(1, 6), st.randoms())
def test_every_tile_goes_to_one_replica_and_comes_back(
    count: int, size: int, replicas: int, random: Any
) -> None:
    made = noise(count, 2, 3, 1)
    dealt = assign(group(made, size), replicas)
    loads = [len(groups) for groups in dealt]
    assert len(loads) == replicas
    assert max(loads) - min(loads) <= 1
    assert all(
        len(found.tiles) == size
        for groups in dealt
        for found in groups
        if found.first + size <= count
    )
    returned = [found for groups in dealt for found in groups]
    random.shuffle(returned)
    assert np.array_equal(ungroup(returned), made)


def test_a_halo_is_what_lies_around_a_tile() -> None:
    frame = np.arange(24.0).reshape(4, 6, 1)
    first = split(frame, (2, 3), 1)[0, :, :, 0]
    # last row above, left repeated
    assert first.tolist() == [
        [18, 18, 19, 20, 21],
        [0, 0, 1, 2, 3],
        [6, 6, 7, 8, 9],
        [12, 12, 13, 14, 15],
    ]


@pytest.mark.parametrize("blend", [0, 2])
def test_tiles_with_enough_halo_give_what_the_whole_frame_gives(blend: int) -> None:
    frame = noise(32, 48, 2)
    whole = box(frame)

    def tiled(halo: int, blend: int = 0) -> np.ndarray:
        run = np.stack([box(tile) for tile in split(frame, (8, 16), halo)])
        return merge(run, (32, 48), (8, 16), halo, blend=blend)

    # blending looks `blend` pixels beyond the seam
    assert np.array_equal(tiled(2 + blend, blend), whole)
    assert np.abs(tiled(0) - whole).max() > 0.1
    assert np.abs(tiled(1) - whole).max() > 0.1


def test_blending_softens_a_seam_and_nothing_else() -> None:
    made = np.zeros((2, 8 + 8, 8 + 8, 1))
    made[1] = 1
    line = merge(made, (8, 16), (8, 8), 4, blend=2)[3, :, 0]
    # none at inlet and outlet, which are no seam
    assert line.tolist() == [0] * 6 + [0.125, 0.375, 0.625, 0.875] + [1] * 6
    tall = merge(made, (16, 8), (8, 8), 4, blend=1)[:, 3, 0]
    assert tall.tolist() == [0.25] + [0] * 6 + [0.25, 0.75] + [1] * 6 + [0.75]  # y is periodic


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: split(noise(8, 8, 1), (3, 4)),
            "A frame of 8x8 pixels does not divide into tiles of 3x4: take a tile height",
        ),
        (lambda: split(noise(8, 8, 1), (4, 4), 5), "A halo of 5 pixels lies outside 0 to 4"),
        (lambda: split(noise(8, 8, 1), (4, 4), -1), "A halo of -1 pixels lies outside 0 to 4"),
        (lambda: split(noise(8, 8, 1), (0, 4)), "The tile height is 0, below the limit of 1"),
        (lambda: split(noise(8, 0, 1), (4, 4)), "The frame width is 0, below the limit of 1"),
        (lambda: split(noise(8, 8), (4, 4)), "3 axes height, width and channel, not 2"),
        (lambda: group(noise(4, 2, 2, 1), 0), "The group size is 0, below the limit of 1"),
        (lambda: assign([], -2), "The number of replicas is -2, below the limit of 1"),
        (lambda: ungroup([]), "0 groups make no frame"),
        (
            lambda: ungroup([Group(0, noise(2, 1, 1, 1)), Group(4, noise(2, 1, 1, 1))]),
            "Tile 2 is missing or there twice",
        ),
        (
            lambda: ungroup([Group(0, noise(2, 1, 1, 1)), Group(0, noise(2, 1, 1, 1))]),
            "Tile 0 is missing or there twice",
        ),
        (
            lambda: merge(noise(3, 4, 4, 1), (8, 8), (4, 4)),
            "The tiles have shape (3, 4, 4, 1), not (4, 4, 4, 'C')",
        ),
        (
            lambda: merge(noise(4, 8, 8, 1), (8, 8), (4, 4), 2, blend=3),
            "blend=3 lies outside 0 to 2",
        ),
        (
            lambda: merge(np.ones((4, 8, 8, 1), int), (8, 8), (4, 4), 2, blend=1),
            "Blending needs floating-point tiles, not int64",
        ),
    ],
)
def test_what_cannot_be_tiled_is_refused_in_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(TilingError) as caught:
        call()
    assert sentence in str(caught.value)
    assert str(caught.value).count(". ") == 0
