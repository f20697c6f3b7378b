"""Points of the latent space, and what may be asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ganboard.gan.generation import latent_requests
from ganboard.gan.generation.latent_requests import (
    SIDE,
    Around,
    Draw,
    Interpolate,
    InvalidRequest,
    Nearest,
    parse,
    plane,
    slerp,
)

DIM = 100


def normal(seed: int, first: int, rows: int) -> np.ndarray:
    """As paint.normal: rows of one table."""
    table = np.random.default_rng(seed).normal(size=(200, DIM)).astype(np.float32)
    return table[first : first + rows]


@pytest.mark.parametrize(
    ("images", "columns"),
    [(1, 1), (2, 2), (3, 3), (8, 4), (16, 4), (17, 17), (36, 6), (60, 10), (64, 8)],
)
def test_a_sheet_is_square_or_a_little_wider(images: int, columns: int) -> None:
    assert Draw(seed=0, images=images).columns == columns
    assert images % columns == 0


def test_images_of_a_seed_do_not_depend_on_how_many_are_drawn() -> None:
    few, many = (Draw(seed=7, images=n).points(normal) for n in (4, 16))
    np.testing.assert_array_equal(few, many[:4])
    np.testing.assert_array_equal(Nearest(seed=7, picks=[3, 1]).points(normal), many[[3, 1]])


def test_truncation_scales_towards_the_mean() -> None:
    whole, half, none = (Draw(seed=7, images=4, psi=psi).points(normal) for psi in (1.0, 0.5, 0.0))
    np.testing.assert_array_equal(half, whole / 2)
    assert not none.any()


def test_a_walk_has_its_ends_and_keeps_to_the_sphere() -> None:
    a, b = normal(1, 0, 3), normal(2, 0, 3)
    way = slerp(a, b, 9)
    assert way.shape == (3, 9, DIM)
    np.testing.assert_allclose(way[:, 0], a, rtol=1e-6)
    np.testing.assert_allclose(way[:, -1], b, rtol=1e-6)
    unit = slerp(
        a / np.linalg.norm(a, axis=1, keepdims=True),
        b / np.linalg.norm(b, axis=1, keepdims=True),
        9,
    ).astype(np.float64)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=2), 1, atol=1e-6)
    angles = np.arccos((unit[:, 1:] * unit[:, :-1]).sum(2))
    np.testing.assert_allclose(angles, angles[:, :1].repeat(8, 1), atol=1e-4)  # equal steps
    straight = (a[0] + b[0]) / 2
    assert np.linalg.norm(way[0, 4]) > 1.2 * np.linalg.norm(straight)


@pytest.mark.parametrize("factor", [1.0, 2.0, -1.0, 0.0])
def test_parallel_ends_are_joined_all_the_same(factor: float) -> None:
    a = normal(1, 0, 1)
    way = slerp(a, (factor * a).astype(np.float32), 5)
    assert np.isfinite(way).all()
    np.testing.assert_allclose(way[0, -1], factor * a[0], atol=1e-4)


def test_walks_between_seeds_and_between_images() -> None:
    request = Interpolate(seed=1, other=2, steps=5, rows=3)
    points = request.points(normal)
    assert (points.shape, request.columns) == ((15, DIM), 5)
    np.testing.assert_allclose(points[[0, 5, 10]], normal(1, 0, 3), rtol=1e-5)
    np.testing.assert_allclose(points[[4, 9, 14]], normal(2, 0, 3), rtol=1e-5)
    one = Interpolate(seed=1, other=1, first=8, second=3, steps=4).points(normal)
    np.testing.assert_allclose(
        one[[0, -1]], np.concatenate([normal(1, 8, 1), normal(1, 3, 1)]), rtol=1e-5
    )


def test_a_plane_turns_around_its_middle() -> None:
    middle, u, v = normal(1, 0, 3)
    points = plane(middle, u, v, 20.0).astype(np.float64)
    assert points.shape == (SIDE * SIDE, DIM)
    grid = points.reshape(SIDE, SIDE, DIM)
    half = SIDE // 2
    np.testing.assert_allclose(grid[half, half], middle, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), np.linalg.norm(middle), rtol=1e-5)
    for edge, towards in ((grid[half, -1], u), (grid[-1, half], v)):
        cosine = edge @ middle / np.linalg.norm(edge) / np.linalg.norm(middle)
        assert np.degrees(np.arccos(cosine)) == pytest.approx(20, abs=0.01)
        assert edge @ towards > middle @ towards
    np.testing.assert_allclose(
        grid[half, 0] + grid[half, -1], 2 * np.cos(np.radians(20)) * middle, atol=1e-4
    )


def test_a_plane_needs_three_dimensions() -> None:
    with pytest.raises(InvalidRequest, match=r"^latent_dim=2 is too small for two directions"):
        Around(seed=0, row=0, degrees=10).points(
            lambda seed, first, rows: np.ones((rows, 2), np.float32)
        )


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (
            "os.system",
            {},
            "'os.system' is not supported. Choose from draw, interpolate, nearest, around.",
        ),
        ("x" * 999, {}, "'" + "x" * 80 + "' is not"),
        ("draw", {}, "seed={} is invalid: field required."),
        (
            "draw",
            {"seed": 0, "images": 65},
            "images=65 is invalid: input should be less than or equal to 64.",
        ),
        ("draw", {"seed": 0, "images": 0}, "images=0 is invalid"),
        ("draw", {"seed": -1, "images": 1}, "seed=-1 is invalid"),
        ("draw", {"seed": 2**31, "images": 1}, "seed=2147483648 is invalid"),
        ("draw", {"seed": "1e9999", "images": 1}, "seed=1e9999 is invalid"),
        ("draw", {"seed": 0, "images": 1, "psi": float("nan")}, "psi=nan is invalid"),
        ("draw", {"seed": 0, "images": 1, "psi": 99}, "psi=99 is invalid"),
        ("draw", {"seed": 0, "images": 1, "path": "../x"}, "path=../x is invalid"),
        ("interpolate", {"seed": 0, "other": 1, "steps": 17}, "steps=17 is invalid"),
        ("interpolate", {"seed": 0, "other": 1, "steps": 1}, "steps=1 is invalid"),
        ("interpolate", {"seed": 0, "other": 1, "steps": 2, "rows": 9}, "rows=9 is invalid"),
        ("interpolate", {"seed": 0, "other": 1, "steps": 2, "first": 64}, "first=64 is invalid"),
        ("nearest", {"seed": 0, "picks": []}, "picks=[] is invalid"),
        ("nearest", {"seed": 0, "picks": [0] * 9}, "picks=[0, 0, 0"),
        ("nearest", {"seed": 0, "picks": [0, 64]}, "picks.1=64 is invalid"),
        ("around", {"seed": 0, "row": 0, "degrees": 91}, "degrees=91 is invalid"),
    ],
)
def test_what_is_out_of_bounds_is_refused_in_a_sentence(
    kind: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(kind, options)
    assert str(refused.value).startswith(words)
    assert "\n" not in str(refused.value)


def test_what_is_stored_comes_back() -> None:
    for request in (
        Draw(seed=1, images=64, psi=0.7),
        Interpolate(seed=1, other=2, steps=16, rows=8),
        Nearest(seed=1, picks=[5, 3]),
        Around(seed=1, row=63, degrees=12.5),
    ):
        assert parse(request.kind, request.model_dump(mode="json")) == request
    assert set(latent_requests.KINDS) == {"draw", "interpolate", "nearest", "around"}
