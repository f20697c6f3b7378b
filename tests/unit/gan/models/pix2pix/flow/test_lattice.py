"""The flow solver: one step against the textbook, conservation, boundaries, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ganboard.gan.models.pix2pix.flow import lattice
from ganboard.gan.models.pix2pix.flow.lattice import Flow, relaxation
from ganboard.gan.models.pix2pix.flow.obstacle import FlowError, Obstacle, parse

GRID = (96, 48)
CIRCLE = Obstacle("circle", 6)


def textbook(f: np.ndarray, flow: Flow) -> np.ndarray:
    """One step in float64, direction by direction, as the equations are written: f [9, ny, nx]."""
    c = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)])
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    opposite = [0, 2, 1, 4, 3, 6, 5, 8, 7]
    f = f.astype(np.float64)

    def equilibrium(rho: Any, u: Any) -> np.ndarray:
        cu = np.tensordot(c, u, 1)
        return (
            w.reshape(9, *[1] * np.ndim(rho))
            * rho
            * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (u**2).sum(0))
        )

    rho = f.sum(0)
    after = f - (f - equilibrium(rho, np.tensordot(c.T, f, 1) / rho)) / flow.tau
    after[:, flow.solid] = f[opposite][:, flow.solid]
    moved = np.stack([np.roll(after[i], (c[i, 1], c[i, 0]), (0, 1)) for i in range(9)])
    moved[:, :, 0] = equilibrium(np.float64(1), np.array([flow.speed, 0]))[:, np.newaxis]
    for i in range(9):
        if c[i, 0] < 0:
            moved[i, :, -1] = moved[i, :, -2]
    return moved


def test_a_step_is_that_of_the_textbook() -> None:
    flow = Flow(parse("rectangle:2", 6), 80, GRID)
    flow.step(150)
    for _ in range(3):
        before = flow._f.reshape(9, *flow.solid.shape).copy()
        flow.step()
        after = flow._f.reshape(9, *flow.solid.shape)
        np.testing.assert_allclose(after, textbook(before, flow), atol=2e-7)


def test_an_undisturbed_stream_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Obstacle, "mask", lambda self, grid: np.zeros(grid[::-1], bool))
    flow = Flow(CIRCLE, 80, GRID, bump=0)
    flow.step(50)
    np.testing.assert_allclose(flow.velocity()[0], 0.1, atol=1e-6)
    np.testing.assert_allclose(flow.velocity()[1], 0, atol=1e-6)
    np.testing.assert_allclose(flow.density(), 1, atol=1e-5)


@pytest.mark.parametrize("name", ["circle", "square", "rectangle:2"])
def test_mass_inlet_and_walls_hold_over_a_developed_street(name: str) -> None:
    flow = Flow(parse(name, 6), 80, GRID)
    flow.step(2500)
    velocity, density = flow.velocity(), flow.density()
    assert velocity.shape == (2, 48, 96)
    assert velocity.dtype == density.dtype == np.float32
    assert abs(density[~flow.solid].mean() - 1) < 0.03
    assert 0.9 < density.min() <= density.max() < 1.1
    np.testing.assert_allclose(velocity[:, :, 0], np.repeat([[0.1], [0.0]], 48, axis=1), atol=1e-6)
    assert (velocity[:, flow.solid] == 0).all()
    assert np.abs(velocity[1]).max() > 0.03  # it sheds


def test_the_mean_wake_is_symmetric_and_slower_than_the_stream() -> None:
    flow = Flow(CIRCLE, 80, GRID)
    flow.step(3000)
    column, profile = flow.obstacle.rear(GRID) + 12, np.zeros((2, 48))
    for _ in range(150):  # about five periods of 375 steps
        flow.step(12)
        profile += flow.velocity()[:, :, column] / 150 / flow.speed
    first = flow.obstacle.corner(GRID)[1]
    # the obstacle's middle lies between rows 23 and 24
    turned = np.roll(profile, -first - 3 + 24, axis=1)
    assert np.abs(turned[0] - turned[0, ::-1]).max() < 0.05
    assert np.abs(turned[1] + turned[1, ::-1]).max() < 0.05
    assert turned[0, 23:25].max() < 0.8 < turned[0, :5].min()


def test_equal_flows_are_equal_to_the_bit_however_they_are_stepped() -> None:
    one, other = Flow(CIRCLE, 80, GRID), Flow(CIRCLE, 80, GRID)
    one.step(30)
    for _ in range(10):
        other.step(3)
        other.velocity(), other.density()  # looking changes nothing
    assert one.steps == other.steps == 30
    assert np.array_equal(one.velocity(), other.velocity())
    row, column = 20, 40
    np.testing.assert_allclose(
        one.velocity_at(column, row), one.velocity()[:, row, column], atol=1e-7
    )


def test_y_is_periodic() -> None:
    middle, moved = Flow(CIRCLE, 80, GRID), Flow(Obstacle("circle", 6, y=0.5 + 10 / 48), 80, GRID)
    middle.step(400)
    moved.step(400)
    np.testing.assert_allclose(np.roll(middle.velocity(), 10, axis=1), moved.velocity(), atol=1e-5)


def test_the_bump_decides_the_side() -> None:
    up, down = Flow(CIRCLE, 80, GRID), Flow(CIRCLE, 80, GRID, bump=-0.05)
    up.step(200)
    down.step(200)
    first = up.obstacle.corner(GRID)[1]
    mirrored = np.roll(np.roll(down.velocity(), -first, axis=1)[:, ::-1], first + 6, axis=1)
    np.testing.assert_allclose(up.velocity()[0], mirrored[0], atol=1e-5)
    np.testing.assert_allclose(up.velocity()[1], -mirrored[1], atol=1e-5)


def test_the_relaxation_time_follows_from_the_reynolds_number() -> None:
    assert relaxation(Obstacle("circle", 12), 100) == pytest.approx(0.536)
    # the limit itself is allowed
    assert relaxation(Obstacle("rectangle", 10), 200, (192, 96)) == pytest.approx(0.515)


@pytest.mark.parametrize(
    ("obstacle", "reynolds", "grid", "speed", "sentence"),
    [
        (
            Obstacle("circle", 12),
            300,
            (256, 128),
            0.1,
            "needs tau = 0.5120, below the limit of 0.515",
        ),
        (
            Obstacle("circle", 12),
            300,
            (256, 128),
            0.1,
            "with D = 12 cells and U = 0.1 it may be at most 240; D = 15 on a grid of 320x160",
        ),
        (
            CIRCLE,
            80,
            GRID,
            0.2,
            "An inlet speed of 0.2 cells per step lies outside the limits of 0 and 0.1",
        ),
        (CIRCLE, 80, GRID, 0.0, "An inlet speed of 0 cells"),
        (CIRCLE, float("nan"), GRID, 0.1, "The Reynolds number is nan: give a finite number"),
        (CIRCLE, 80, GRID, float("inf"), "The inlet speed is inf: give a finite number"),
        (CIRCLE, 0.5, GRID, 0.1, "A Reynolds number of 0.5 is below the limit of 1"),
        (CIRCLE, -80, GRID, 0.1, "A Reynolds number of -80 is below the limit of 1"),
        (CIRCLE, 80, (96, 20), 0.1, "A grid of 96x20 cells is too small, the limit is 24 a side"),
        (CIRCLE, 80, (1 << 40, 48), 0.1, "exceeds the limit of 4,194,304 cells"),
        (
            Obstacle("circle", 13),
            80,
            GRID,
            0.1,
            "D = 13 cells is too large for a grid 48 cells wide, where the limit is 12",
        ),
        (Obstacle("circle", 13), 80, GRID, 0.1, "make it smaller, or the grid 52 cells wide"),
        (
            Obstacle("circle", 3),
            80,
            GRID,
            0.1,
            "An obstacle of D = 3 cells is below the limit of 4",
        ),
        (
            Obstacle("circle", 6, x=0.02),
            80,
            GRID,
            0.1,
            "less than the limit of 1 D = 6 cells ahead and 5 D = 30 behind: choose x between",
        ),
        (
            Obstacle("circle", 6, x=0.9),
            80,
            GRID,
            0.1,
            "over columns 83 to 88 of 96 leaves less than the limit",
        ),
        (
            Obstacle("rectangle", 6, 10),
            80,
            GRID,
            0.1,
            "cells ahead and 5 D = 30 behind: choose x between 0.375 and 0.375",
        ),
        (
            Obstacle("rectangle", 8, 10),
            80,
            GRID,
            0.1,
            "make the grid at least 128 cells long, or the obstacle smaller",
        ),
        (
            Obstacle("circle", 6, y=0.01),
            80,
            GRID,
            0.1,
            "leaves the grid of 48 rows: choose y between 0.062 and 0.938",
        ),
        (Obstacle("circle", 6, y=float("nan")), 80, GRID, 0.1, "The obstacle's y is nan"),
        (
            Obstacle("rectangle", 6, 50),
            80,
            GRID,
            0.1,
            "A rectangle of aspect 50 (length to height) lies outside the limits of 0.1 and 10",
        ),
        (Obstacle("circle", 6, 2), 80, GRID, 0.1, "A circle has aspect 1, not 2"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_one_sentence(
    obstacle: Obstacle, reynolds: float, grid: tuple[int, int], speed: float, sentence: str
) -> None:
    with pytest.raises(FlowError) as caught:
        Flow(obstacle, reynolds, grid, speed)
    assert sentence in str(caught.value)
    assert not re.search(r"\. [A-Z]", str(caught.value))


def test_what_a_refusal_recommends_is_accepted() -> None:
    with pytest.raises(FlowError) as caught:
        relaxation(Obstacle("circle", 12), 1000)
    found = re.search(r"D = (\d+) on a grid of (\d+)x(\d+)", str(caught.value))
    assert found
    assert (
        relaxation(Obstacle("circle", int(found[1])), 1000, (int(found[2]), int(found[3]))) >= 0.515
    )


@pytest.mark.parametrize("bump", [0.6, float("nan")])
def test_a_bump_that_is_no_small_disturbance_is_refused(bump: float) -> None:
    with pytest.raises(FlowError, match=r"exceeds the limit of 0\.5"):
        Flow(CIRCLE, 80, GRID, bump=bump)


def test_a_flow_that_explodes_says_at_which_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice, "MIN_TAU", 0.5)
    flow = Flow(parse("square", 6), 1e5, GRID)
    with pytest.raises(
        FlowError, match=r"became infinite or NaN by step [\d,]+: use a smaller Reynolds number"
    ) as caught:
        flow.step(5000)
    assert f"{flow.steps:,}" in str(caught.value)
    assert 1 < flow.steps < 5000


@pytest.mark.parametrize("name", ["circle", "square", "rectangle:2", "rectangle:0.5"])
def test_an_obstacle_covers_its_cells_and_is_symmetric(name: str) -> None:
    for diameter in (8, 9):
        found = parse(name, diameter)
        mask = found.mask((128, 64))
        assert found.name == name
        column, row = found.corner((128, 64))
        box = mask[row : row + diameter, column : column + found.length]
        assert box.sum() == mask.sum()
        assert box.any(axis=1).all()
        assert box.any(axis=0).all()
        assert np.array_equal(box, box[::-1])
        assert np.array_equal(box, box[:, ::-1])
    area = np.pi / 4 * 9**2 if name == "circle" else 9 * found.length
    assert mask.sum() == pytest.approx(area, rel=0.1)


@pytest.mark.parametrize(
    "name", ["", "triangle", "rectangle", "rectangle:", "rectangle:-1", "rectangle:nan", "circle "]
)
def test_an_unknown_obstacle_is_refused(name: str) -> None:
    with pytest.raises(
        FlowError, match=r"There is no obstacle .*: take circle, square, or rectangle:2"
    ):
        parse(name, 6)
