"""What stands in the stream: a circle or a rectangle of lattice cells."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ganboard.gan.data.dataset import DatasetError

Mask = npt.NDArray[np.bool_]
Shape = Literal["circle", "rectangle"]

MIN_DIAMETER = 4  # cells; a circle of fewer is a square
# of the grid's width; y is periodic, so the obstacle stands in a row of its copies
MAX_BLOCKAGE = 0.25
MAX_ASPECT = 10.0
AHEAD, BEHIND = 1, 5  # diameters of free stream; the probe stands 3 behind
_RECTANGLE = re.compile(r"rectangle:([0-9]+(?:\.[0-9]+)?)")


class FlowError(DatasetError):
    """A flow that cannot be computed; the message is one sentence that names the value, the limit
    and the remedy."""


@dataclass(frozen=True)
class Obstacle:
    """A circle, or a rectangle that is `aspect` times as long (along the stream) as it is high."""

    shape: Shape
    diameter: int  # D, cells across the stream
    aspect: float = 1.0
    x: float = 0.2  # the middle, as a fraction of the grid's length
    y: float = 0.5  # the middle, as a fraction of the grid's width

    @property
    def name(self) -> str:
        """As `parse` reads it: circle, square or rectangle:2."""
        if self.shape == "circle":
            return "circle"
        return "square" if self.aspect == 1 else f"rectangle:{self.aspect:g}"

    @property
    def length(self) -> int:
        """Cells along the stream."""
        return max(1, round(self.diameter * self.aspect))

    def corner(self, grid: tuple[int, int]) -> tuple[int, int]:
        """First column and row of the box around it on a grid of (length, width) cells: it covers
        whole cells, exactly D across."""
        return math.floor(self.x * grid[0] - self.length / 2 + 0.5), math.floor(
            self.y * grid[1] - self.diameter / 2 + 0.5
        )

    def rear(self, grid: tuple[int, int]) -> int:
        """First column behind the obstacle."""
        return self.corner(grid)[0] + self.length

    def mask(self, grid: tuple[int, int]) -> Mask:
        """True in the solid: bool [ny, nx] for a `grid` of (nx, ny) cells. Raises FlowError when
        the obstacle does not fit."""
        self.check(grid)
        column, row = self.corner(grid)
        x, y = np.arange(grid[0]) - column, (np.arange(grid[1]) - row)[:, np.newaxis]
        if self.shape == "rectangle":
            return np.asarray((x >= 0) & (x < self.length) & (y >= 0) & (y < self.diameter))
        middle = (self.diameter - 1) / 2
        return np.asarray((x - middle) ** 2 + (y - middle) ** 2 < (self.diameter / 2) ** 2)

    def check(self, grid: tuple[int, int]) -> None:
        """Raises FlowError unless the obstacle can be resolved and has free stream around it on a
        `grid` of (length, width) cells."""
        nx, ny = grid
        numbers = {"diameter": self.diameter, "aspect": self.aspect, "x": self.x, "y": self.y}
        for name, value in numbers.items():
            if not math.isfinite(value):
                raise FlowError(f"The obstacle's {name} is {value}: give a finite number.")
        if self.diameter < MIN_DIAMETER:
            raise FlowError(
                f"An obstacle of D = {self.diameter} cells is below the limit of {MIN_DIAMETER}:"
                " give a larger diameter."
            )
        if not 1 / MAX_ASPECT <= self.aspect <= MAX_ASPECT:
            limits = f"the limits of {1 / MAX_ASPECT:g} and {MAX_ASPECT:g}"
            raise FlowError(
                f"A rectangle of aspect {self.aspect:g} (length to height) lies outside {limits}:"
                " choose one between them."
            )
        if self.shape == "circle" and self.aspect != 1:
            raise FlowError(
                f"A circle has aspect 1, not {self.aspect:g}: leave the aspect out, or take a"
                " rectangle."
            )
        if self.diameter > MAX_BLOCKAGE * ny:
            limit, wanted = math.floor(MAX_BLOCKAGE * ny), math.ceil(self.diameter / MAX_BLOCKAGE)
            raise FlowError(
                f"An obstacle of D = {self.diameter} cells is too large for a grid {ny} cells wide,"
                f" where the limit is {limit}: make it smaller, or the grid {wanted} cells wide."
            )
        column, row = self.corner(grid)
        left, right = AHEAD * self.diameter, nx - BEHIND * self.diameter
        if column < left or column + self.length > right:
            if right - left < self.length:
                remedy = (
                    f"make the grid at least {left + self.length + BEHIND * self.diameter} cells"
                    " long, or the obstacle smaller"
                )
            else:
                remedy = (
                    f"choose x between {(left + self.length / 2) / nx:.3f} and"
                    f" {(right - self.length / 2) / nx:.3f}"
                )
            raise FlowError(
                f"An obstacle over columns {column} to {column + self.length - 1} of {nx} leaves"
                f" less than the limit of {AHEAD} D = {left} cells ahead and {BEHIND} D ="
                f" {nx - right} behind: {remedy}."
            )
        if row < 0 or row + self.diameter > ny:
            half = self.diameter / 2 / ny
            raise FlowError(
                f"An obstacle over rows {row} to {row + self.diameter - 1} leaves the grid of {ny}"
                f" rows: choose y between {half:.3f} and {1 - half:.3f}."
            )


def parse(name: str, diameter: int) -> Obstacle:
    """The obstacle that circle, square or rectangle:ASPECT names; raises FlowError."""
    if name == "circle":
        return Obstacle("circle", diameter)
    if name == "square":
        return Obstacle("rectangle", diameter)
    if match := _RECTANGLE.fullmatch(name):
        return Obstacle("rectangle", diameter, float(match[1]))
    raise FlowError(
        f"There is no obstacle {name[:40]!r}: take circle, square, or rectangle:2 (twice as long"
        " as high)."
    )
