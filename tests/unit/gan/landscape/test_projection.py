from __future__ import annotations

import math

import numpy as np

from ganboard.gan.landscape import projection

RNG = np.random.default_rng(0)
SHAPES = ((5, 7), (300,), (4, 4, 2))


def weights(scale: float = 1.0) -> list[np.ndarray]:
    return [(scale * RNG.standard_normal(shape)).astype(np.float32) for shape in SHAPES]


def test_a_path_begins_at_the_origin() -> None:
    start = weights()
    assert projection.path_point(3, 0, start, start) == (0.0, 0.0)


def test_the_projection_is_linear_and_repeatable() -> None:
    zero = [np.zeros(shape, np.float32) for shape in SHAPES]
    move = weights()
    x, y = projection.path_point(3, 0, move, zero)
    assert projection.path_point(3, 0, move, zero) == (x, y)
    twice = projection.path_point(3, 0, [2 * m for m in move], zero)
    np.testing.assert_allclose(twice, (2 * x, 2 * y), rtol=1e-12)


def test_axes_depend_on_seed_and_net() -> None:
    zero, move = [np.zeros(shape, np.float32) for shape in SHAPES], weights()
    points = {projection.path_point(seed, net, move, zero) for seed in range(3) for net in range(2)}
    assert len(points) == 6
    assert all(x != y for x, y in points)


def test_squared_distances_are_kept_on_average() -> None:
    zero, move = [np.zeros(shape, np.float32) for shape in SHAPES], weights()
    wanted = sum(float((m.astype(np.float64) ** 2).sum()) for m in move)
    squares = [math.hypot(*projection.path_point(seed, 0, move, zero)) ** 2 for seed in range(400)]
    assert abs(np.mean(squares) / wanted - 1) < 0.2
