"""Rows of a file as an array."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.data.pictures.rows import Rows

ARRAY = np.random.default_rng(0).integers(0, 256, (9, 5, 5, 3), np.uint8)


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    np.save(tmp_path / "x.npy", ARRAY)
    return Rows(tmp_path / "x.npy")


@pytest.mark.parametrize(
    "index",
    [
        3,
        -1,
        np.int32(2),
        slice(None),
        slice(2, 5),
        slice(7, 99),
        slice(5, 2),
        slice(8, 2, -2),
        [4, 4, 0, -2],
        np.array([], np.int64),
        np.arange(9)[::-1],
    ],
)
def test_reads_what_an_array_in_memory_gives(rows: Rows, index: object) -> None:
    found = rows[index]  # type: ignore[call-overload]
    np.testing.assert_array_equal(found, ARRAY[index])  # type: ignore[call-overload]
    assert found.dtype == np.uint8


def test_looks_like_an_array(rows: Rows) -> None:
    assert (rows.shape, len(rows), rows.ndim, rows.nbytes) == (ARRAY.shape, 9, 4, ARRAY.nbytes)
    np.testing.assert_array_equal(np.asarray(rows), ARRAY)
    np.testing.assert_array_equal(np.stack(list(rows)), ARRAY)  # type: ignore[call-overload]


def test_a_head_ends_where_it_says(rows: Rows) -> None:
    head = rows.head(4)
    np.testing.assert_array_equal(head[:], ARRAY[:4])
    np.testing.assert_array_equal(head[-1], ARRAY[3])
    assert (len(rows.head(None)), len(rows.head(99)), len(rows)) == (9, 9, 9)
    with pytest.raises(IndexError, match="row 4 of 4"):
        head[4]


@pytest.mark.parametrize("index", [9, -10, [0, 9], 1.5, np.ones(9, bool)])
def test_refuses_what_is_no_row(rows: Rows, index: object) -> None:
    with pytest.raises(IndexError):
        rows[index]  # type: ignore[call-overload]


@pytest.mark.parametrize("array", [ARRAY.astype(np.int8), ARRAY[0], np.asfortranarray(ARRAY)])
def test_refuses_other_arrays(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "y.npy", array)
    with pytest.raises(ValueError, match=r"it holds \w+ of shape"):
        Rows(tmp_path / "y.npy")


def test_a_file_that_is_cut_off_meanwhile_is_an_error(rows: Rows) -> None:
    with rows.path.open("r+b") as file:
        file.truncate(rows.offset + 7 * rows.row_bytes)
    np.testing.assert_array_equal(rows[6], ARRAY[6])
    with pytest.raises(OSError, match="was cut off"):
        rows[7]
