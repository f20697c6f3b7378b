"""Nearest training images, against the definition written out."""

from __future__ import annotations

import numpy as np
import pytest

from ganboard.gan.data.digits import load
from ganboard.gan.generation import nearest as module
from ganboard.gan.generation.nearest import nearest, spacing


def drawn_and_data(n: int, q: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.uniform(-1, 1, (q, 28, 28, 1)).astype(np.float32), random.integers(
        0, 256, (n, 28, 28, 1), np.uint8
    )


@pytest.mark.parametrize(
    ("n", "chunk", "k"), [(50, 8192, 6), (50, 7, 6), (50, 5, 6), (4, 8192, 6), (1, 8192, 6)]
)
def test_it_is_the_definition(n: int, chunk: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", chunk)
    images, data = drawn_and_data(n)
    differences = (images[:, None].astype(np.float64) + 1) / 2 - data[None] / 255
    distances = np.sqrt((differences**2).sum((2, 3, 4)))
    order = np.argsort(distances, axis=1)[:, :k]
    found, near = nearest(images, data, k)
    np.testing.assert_array_equal(found, order)
    np.testing.assert_allclose(near, np.take_along_axis(distances, order, 1), rtol=1e-5)


def test_a_copy_is_at_distance_zero_and_black_from_white_at_28() -> None:
    _, data = drawn_and_data(20)
    found, distances = nearest(data[7:8].astype(np.float32) / 127.5 - 1, data, 1)
    assert (found[0, 0], distances[0, 0]) == (7, pytest.approx(0, abs=1e-5))
    _, far = nearest(
        np.full((1, 28, 28, 1), -1, np.float32), np.full((1, 28, 28, 1), 255, np.uint8), 1
    )
    assert far[0, 0] == pytest.approx(28)


def test_spacing_is_that_of_the_data() -> None:
    digits = load(200).images
    usual = spacing(digits)
    assert usual is not None
    assert 1 < usual < 10
    # every image has its double
    assert spacing(np.concatenate([digits, digits])) == pytest.approx(0, abs=1e-5)
    assert spacing(digits[:1]) is None
