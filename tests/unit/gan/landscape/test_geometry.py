"""Planes, coordinates and surfaces, against a bowl whose loss is known everywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ganboard.gan.landscape import geometry
from ganboard.gan.landscape.geometry import LandscapeError, Weights

SHAPES = ((3, 4), (5,), (2, 2, 3))
AXES = (1, None, -1)


def point(generator: np.random.Generator, scale: float = 1.0) -> Weights:
    return [(scale * generator.standard_normal(shape)).astype(np.float32) for shape in SHAPES]


def flat(weights: Weights) -> np.ndarray:
    return np.concatenate([tensor.ravel() for tensor in weights]).astype(np.float64)


def shaped(values: np.ndarray) -> Weights:
    parts = np.split(
        values.astype(np.float32), np.cumsum([math.prod(shape) for shape in SHAPES])[:-1]
    )
    return [part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True)]


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(7)


def test_principal_directions_are_those_of_a_singular_value_decomposition(
    generator: np.random.Generator,
) -> None:
    path = [point(generator) for _ in range(6)]
    plane = geometry.principal(path, path[-1])
    rows = np.stack([flat(one) for one in path])
    _, values, vectors = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
    for axis, vector in zip((plane.u, plane.v), vectors, strict=False):
        assert abs(flat(axis) @ vector) == pytest.approx(1, abs=1e-6)
    assert plane.share == pytest.approx((values[:2] ** 2).sum() / (values**2).sum())
    start, end = plane.coordinates([path[0], path[-1]])
    assert start[0] >= 0
    assert end == pytest.approx([0, 0], abs=1e-6)


def test_a_path_in_a_plane_is_held_whole_and_found_again(generator: np.random.Generator) -> None:
    origin, a, b = (flat(point(generator)) for _ in range(3))
    path = [shaped(origin + x * a + y * b) for x, y in ((3, 1), (2, -1), (1, 0.5), (0, 0))]
    plane = geometry.principal(path, path[-1])
    assert plane.share == pytest.approx(1, abs=1e-6)
    for weights, (x, y) in zip(path, plane.coordinates(path), strict=True):
        assert flat(plane.at(x, y)) == pytest.approx(flat(weights), abs=1e-5)


@pytest.mark.parametrize("kind", ["principal", "random"])
def test_the_surface_of_a_bowl_is_the_bowl(
    generator: np.random.Generator, kind: geometry.Kind
) -> None:
    curvature = generator.uniform(0.5, 2, sum(map(math.prod, SHAPES)))
    lowest = flat(point(generator))

    def bowl(weights: Weights) -> float:
        return float(curvature @ np.square(flat(weights) - lowest) / 2)

    # gradient descent on it, which is linear: w <- w - rate * curvature * (w - lowest)
    path = [
        shaped(lowest + (1 - 0.2 * curvature) ** n * flat(point(np.random.default_rng(1), 2.0)))
        for n in range(8)
    ]
    plane = (
        geometry.principal(path, path[-1])
        if kind == "principal"
        else geometry.random(path, path[-1], AXES, seed=3)
    )
    where = plane.coordinates(path)
    xs, ys = geometry.axes(where, kind, 9)
    assert xs[0] < where[:, 0].min()
    assert xs[-1] > where[:, 0].max()
    on_progress: list[int] = []
    found = geometry.surface(bowl, plane, xs, ys, on_progress.append)
    assert on_progress == list(range(1, 82))
    gradient, u, v = curvature * (flat(path[-1]) - lowest), flat(plane.u), flat(plane.v)
    for row, y in enumerate(ys):
        for column, x in enumerate(xs):
            way = x * u + y * v
            assert found[row, column] == pytest.approx(
                bowl(path[-1]) + gradient @ way + curvature @ way**2 / 2, rel=1e-4
            )
    if kind == "principal":
        assert plane.share > 0.9


def test_random_directions_have_filters_as_long_as_the_weights(
    generator: np.random.Generator,
) -> None:
    path = [point(generator) for _ in range(4)]
    plane = geometry.random(path, path[-1], AXES, seed=3)
    for axis in (plane.u, plane.v):
        assert np.linalg.norm(axis[0], axis=0) == pytest.approx(
            np.linalg.norm(path[-1][0], axis=0), rel=1e-5
        )
        assert not axis[1].any()  # biases stay
        assert np.linalg.norm(axis[2].reshape(-1, 3), axis=0) == pytest.approx(
            np.linalg.norm(path[-1][2].reshape(-1, 3), axis=0), rel=1e-5
        )
    assert 0 < plane.share < 1
    again = geometry.random(path, path[-1], AXES, seed=3)
    assert flat(again.u) == pytest.approx(flat(plane.u), abs=0)
    # though the directions are not at right angles
    x, y = plane.coordinates([plane.at(0.3, -0.7)])[0]
    assert (x, y) == pytest.approx((0.3, -0.7), abs=1e-5)


def test_the_radius_is_the_distance_from_the_end(generator: np.random.Generator) -> None:
    path = [point(generator) for _ in range(3)]
    expected = [np.linalg.norm(flat(one) - flat(path[-1])) for one in path]
    assert geometry.radii(path) == pytest.approx(expected, rel=1e-6)
    assert geometry.radii(path)[-1] == 0


def test_what_is_not_finite_is_a_gap(generator: np.random.Generator) -> None:
    path = [point(generator) for _ in range(3)]
    plane = geometry.principal(path, path[-1])
    steps = np.array([-1.0, 0.0, 1.0])
    found = geometry.surface(
        lambda w: (
            math.inf if flat(w) @ flat(plane.u) > flat(path[-1]) @ flat(plane.u) + 0.5 else 1.0
        ),
        plane,
        steps,
        steps,
    )
    assert np.isnan(found[:, 2]).all()
    assert (found[:, :2] == 1).all()


def test_too_short_a_path_spans_no_plane(generator: np.random.Generator) -> None:
    one, other = point(generator), point(generator)
    for path in ([one], [one, other], [one, one, one, other]):
        with pytest.raises(
            LandscapeError,
            match=f"^A path of {len(path)} points does not span a plane. Train longer",
        ):
            geometry.principal(path, path[-1])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 4}, "^size=4 is invalid: input should be greater than or equal to 5.$"),
        ({"size": 62}, "^size=62 is invalid"),
        ({"images": 10**9}, "^images=1000000000 is invalid"),
        ({"plane": "flat"}, "^plane=flat is invalid"),
        ({"seed": -1}, "^seed=-1 is invalid"),
        ({"colour": "red"}, "^colour=red is invalid"),
    ],
)
def test_a_request_that_cannot_be_is_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(LandscapeError, match=sentence):
        geometry.parse(options)


def test_arrays_come_back_from_a_result() -> None:
    arrays = {"g.surface": np.array([[1.5, np.nan]], np.float32), "g.path": np.zeros((2, 6))}
    back = geometry.unpack(geometry.pack(arrays))
    assert back.keys() == arrays.keys()
    assert all(np.array_equal(back[name], arrays[name], equal_nan=True) for name in arrays)
