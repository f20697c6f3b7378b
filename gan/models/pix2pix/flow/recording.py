"""What a set of frame pairs is computed from: flows, how long each starts up, how often a frame is
taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ganboard.gan.models.pix2pix.flow import obstacle
from ganboard.gan.models.pix2pix.flow.lattice import BUMP, GRID, SPEED, relaxation
from ganboard.gan.models.pix2pix.flow.obstacle import FlowError, Obstacle

DIAMETER = 12  # cells; on the default grid 9 % of the width, and enough for Re 240
# steps: shedding is at half amplitude after 1,200 to 2,400, developed after about 4,000
DISCARD = 4000
EVERY = 40  # steps: a period of 600 to 700 has about 16 frames
FRAMES = 501  # 500 pairs of neighbours
MOVE_X, MOVE_Y = 0.04, 0.1  # of the grid's length and width, to either side
MAX_CASES = 1000
_LIMITS = {
    "frames": (2, 100_000),
    "discard": (1, 1_000_000),
    "every": (1, 10_000),
    "seed": (0, (1 << 63) - 1),
}


@dataclass(frozen=True)
class Case:
    """One flow."""

    obstacle: Obstacle
    reynolds: float
    held_out: bool = False
    bump: float = BUMP


@dataclass(frozen=True)
class Recording:
    cases: tuple[Case, ...]
    grid: tuple[int, int] = GRID
    speed: float = SPEED
    frames: int = FRAMES  # per case
    discard: int = DISCARD  # steps before the first frame
    every: int = EVERY  # steps between frames
    seed: int = 0  # recorded only: `plan` has used it

    @property
    def steps(self) -> int:
        """Solver steps per case."""
        return self.discard + (self.frames - 1) * self.every

    def check(self) -> None:
        """Raises FlowError for whatever cannot be computed, before any work."""
        for name in _LIMITS:
            _within(name, getattr(self, name))
        if len(self.cases) > MAX_CASES:
            raise FlowError(
                f"{len(self.cases):,} flows exceed the limit of {MAX_CASES:,}: name fewer Reynolds"
                " numbers or obstacles."
            )
        if not any(not case.held_out for case in self.cases):
            raise FlowError(
                "0 flows are left to train with, at least 1 is needed: hold out fewer, or name"
                " more."
            )
        for case in self.cases:
            relaxation(case.obstacle, case.reynolds, self.grid, self.speed)


def plan(
    reynolds: Sequence[float],
    shapes: Sequence[str],
    held_out: Sequence[str] = (),
    *,
    diameter: int = DIAMETER,
    seed: int = 0,
) -> tuple[Case, ...]:
    """Every Reynolds number with every shape (`obstacle.parse`); those in `held_out`, of either
    kind, are added and never trained with.

    `seed` places each obstacle up to `MOVE_X` and `MOVE_Y` off its usual place and gives the bump a
    sign. Raises FlowError.
    """
    _within("seed", seed)
    held_numbers = [number for name in held_out if (number := _number(name)) is not None]
    held_shapes = [name for name in held_out if _number(name) is None]
    cases = [
        Case(
            obstacle.parse(name, diameter),
            number,
            held_out=number in held_numbers or name in held_shapes,
        )
        for name in dict.fromkeys([*shapes, *held_shapes])
        for number in dict.fromkeys([*reynolds, *held_numbers])
    ]
    return tuple(_placed(case, seed, number) for number, case in enumerate(cases))


def _within(name: str, value: int) -> None:
    low, high = _LIMITS[name]
    if not low <= value <= high:
        raise FlowError(
            f"{name}={value} lies outside the limits of {low:,} and {high:,}: choose a value"
            " between them."
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _placed(case: Case, seed: int, number: int) -> Case:
    # raw words: NumPy promises their values for ever
    words = np.random.Philox(key=np.array([seed, number], np.uint64)).random_raw(3)
    right, down, sign = (float(word) / 2**63 - 1 for word in words)
    stands = replace(
        case.obstacle, x=case.obstacle.x + MOVE_X * right, y=case.obstacle.y + MOVE_Y * down
    )
    return replace(case, obstacle=stands, bump=BUMP if sign > 0 else -BUMP)
