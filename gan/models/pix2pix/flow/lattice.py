"""Flow past an obstacle by the lattice Boltzmann method: D2Q9, one relaxation time (BGK), float32,
in numpy.

Sources. Equilibrium and weights: Qian, d'Humieres & Lallemand 1992, "Lattice BGK models for
Navier-Stokes equation". Walls: full-way bounce-back (Succi 2001, "The Lattice Boltzmann Equation").
Units are the lattice's: one cell, one step, density 1; sound moves at 1/sqrt(3). Boundaries: the
inlet column is in equilibrium at (density 1, velocity U, 0), the outlet copies what it lacks from
its neighbour, y is periodic.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ganboard.gan.models.pix2pix.flow.obstacle import FlowError, Obstacle

Field = npt.NDArray[np.float32]

GRID = (256, 128)  # cells along and across the stream
SPEED = 0.1  # U, cells per step
BUMP = 0.05  # of U
MIN_TAU = 0.515  # measured: finite at 0.515 (cell Reynolds number 20), not tried below
MAX_SPEED = 0.1  # Mach number 0.17: density changes by about Ma^2, 3 %
MIN_SIDE, MAX_CELLS = 24, 1 << 22

# Rest, then four pairs of opposite directions; the weights are those of Qian et al., Table 1.
_VELOCITIES = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1))
_WEIGHTS = (4 / 9, *(1 / 9,) * 4, *(1 / 36,) * 4)
_PAIRS = (1, 3, 5, 7)  # the first of each
_DIRECTIONS = np.array(_VELOCITIES)
_WESTWARD = [i for i, (cx, _) in enumerate(_VELOCITIES) if cx < 0]


def relaxation(
    obstacle: Obstacle, reynolds: float, grid: tuple[int, int] = GRID, speed: float = SPEED
) -> float:
    """Relaxation time tau = 3 nu + 1/2 in steps, where nu = U D / Re (Chapman-Enskog; Qian et al.
    1992).

    Raises FlowError for whatever `Flow` cannot compute, before any work: it is cheap.
    """
    for name, value in {"Reynolds number": reynolds, "inlet speed": speed}.items():
        if not math.isfinite(value):
            raise FlowError(f"The {name} is {value}: give a finite number.")
    nx, ny = grid
    if min(grid) < MIN_SIDE:
        raise FlowError(
            f"A grid of {nx}x{ny} cells is too small, the limit is {MIN_SIDE} a side: take a finer"
            " one, such as 256x128."
        )
    if nx * ny > MAX_CELLS:
        raise FlowError(
            f"A grid of {nx}x{ny} cells exceeds the limit of {MAX_CELLS:,} cells: take a coarser"
            " one, such as 256x128."
        )
    if not 0 < speed <= MAX_SPEED:
        raise FlowError(
            f"An inlet speed of {speed:g} cells per step lies outside the limits of 0 and"
            f" {MAX_SPEED} (beyond it the gas is compressed): take one between, such as {SPEED}."
        )
    obstacle.check(grid)
    if reynolds < 1:
        raise FlowError(
            f"A Reynolds number of {reynolds:g} is below the limit of 1: take a larger one; a"
            " street needs about 50."
        )
    tau = 3 * speed * obstacle.diameter / reynolds + 0.5
    if tau < MIN_TAU - 1e-9:  # rounding must not refuse the limit itself
        viscosity = (MIN_TAU - 0.5) / 3
        wanted = math.ceil(reynolds * viscosity / speed - 1e-9)
        larger = "x".join(str(math.ceil(side * wanted / obstacle.diameter)) for side in grid)
        raise FlowError(
            f"Reynolds number {reynolds:g} needs tau = {tau:.4f}, below the limit of {MIN_TAU} for"
            f" a stable solver: with D = {obstacle.diameter} cells and U = {speed:g} it may be at"
            f" most {speed * obstacle.diameter / viscosity:.0f}; D = {wanted} on a grid of {larger}"
            " would allow it."
        )
    return tau


class Flow:
    """The stream from its start: U everywhere but in the solid, and a transverse Gaussian of `bump`
    U behind it, which begins the shedding.

    Raises FlowError as `relaxation` does.
    """

    def __init__(
        self,
        obstacle: Obstacle,
        reynolds: float,
        grid: tuple[int, int] = GRID,
        speed: float = SPEED,
        *,
        bump: float = BUMP,
    ) -> None:
        self.tau = relaxation(obstacle, reynolds, grid, speed)
        if not abs(bump) <= 0.5:
            raise FlowError(
                f"A bump of {bump} U exceeds the limit of 0.5: take a smaller one, such as {BUMP}."
            )
        self.obstacle, self.reynolds, self.grid, self.speed = obstacle, reynolds, grid, speed
        self.solid = obstacle.mask(grid)  # [ny, nx]
        self.steps = 0
        nx, ny = grid
        self._walls = np.flatnonzero(self.solid)
        # Rows lie one behind the other, so that moving a population is moving one block; what that
        # carries around the ends of the rows is overwritten by inlet and outlet.
        self._offsets = [cx + cy * nx for cx, cy in _VELOCITIES]
        self._f = _equilibrium(np.ones(nx * ny), *self._start(bump))  # [9, ny nx]
        self._inlet = _equilibrium(np.ones(1), np.full(1, speed), np.zeros(1))  # [9, 1]
        self._density, *self._work = np.empty((5, nx * ny), np.float32)
        # along the first direction of each pair
        self._momentum, self._velocity = np.empty((2, len(_PAIRS), nx * ny), np.float32)

    def step(self, count: int = 1) -> None:
        """`count` steps of time; raises FlowError at the step whose field is no longer finite."""
        with np.errstate(all="ignore"):  # said below, once
            for _ in range(count):
                self._collide_and_stream()
                self.steps += 1
                if not math.isfinite(float(self._density.sum())):
                    raise FlowError(
                        f"The flow at Reynolds number {self.reynolds:g} became infinite or NaN by"
                        f" step {self.steps:,}: use a smaller Reynolds number, an inlet speed"
                        f" below {self.speed:g}, or a finer grid with a larger obstacle."
                    )

    def velocity(self) -> Field:
        """(u_x, u_y) in cells per step, float32 [2, ny, nx]; 0 in the solid."""
        self._moments()
        return np.stack(
            [
                np.where(self.solid, 0, (j / self._density).reshape(self.solid.shape))
                for j in self._momentum[:2]
            ]
        )

    def density(self) -> Field:
        """float32 [ny, nx], 1 at the inlet; 1 in the solid, where it means nothing."""
        self._moments()
        return np.where(self.solid, np.float32(1), self._density.reshape(self.solid.shape))

    def velocity_at(self, column: int, row: int) -> tuple[float, float]:
        """(u_x, u_y) of one cell, in cells per step: cheap enough for every step."""
        f = self._f[:, row * self.grid[0] + column].astype(np.float64)
        ux, uy = (f @ _DIRECTIONS) / f.sum()
        return float(ux), float(uy)

    def _start(self, bump: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        (nx, ny), D = self.grid, self.obstacle.diameter
        x, y = (
            np.arange(nx) - (self.obstacle.rear(self.grid) + D),
            np.arange(ny) - (self.obstacle.corner(self.grid)[1] + (D - 1) / 2),
        )
        y = (y + ny / 2) % ny - ny / 2  # the nearest of the periodic copies
        gauss = np.exp(-(x**2 + y[:, np.newaxis] ** 2) / (2 * D**2))
        ux, uy = np.full((ny, nx), self.speed), bump * self.speed * gauss
        return np.where(self.solid, 0, ux).ravel(), np.where(self.solid, 0, uy).ravel()

    def _moments(self) -> None:
        f, (east, north, rising, falling) = self._f, self._momentum
        np.add.reduce(f, axis=0, out=self._density)
        for j, first in zip(self._momentum, _PAIRS, strict=True):
            np.subtract(f[first], f[first + 1], out=j)
        east += rising
        east += falling
        north += rising
        north -= falling
        np.add(east, north, out=rising)
        np.subtract(east, north, out=falling)

    def _collide_and_stream(self) -> None:
        """f <- f + (feq - f) / tau, bounce-back in the solid, then every population moves by one
        cell.

        feq_i = w_i rho (1 + 3 c.u + 9/2 (c.u)^2 - 3/2 u.u) (Qian et al. 1992, Eq. 3) is, with j =
        rho u, an even part that both directions of a pair share and an odd part 3 w_i c.j that they
        have with opposite signs.
        """
        self._moments()
        f, walls, keep = self._f, self._walls, np.float32(1 - 1 / self.tau)
        base, even, odd, after = self._work
        np.divide(self._momentum, self._density, out=self._velocity)
        np.multiply(self._momentum[0], self._velocity[0], out=base)
        np.multiply(self._momentum[1], self._velocity[1], out=even)
        base += even
        base *= np.float32(-1.5)
        base += self._density
        held = f[0, walls]
        f[0] *= keep
        np.multiply(base, np.float32(_WEIGHTS[0] / self.tau), out=even)
        f[0] += even
        f[0, walls] = held
        for first, j, u in zip(_PAIRS, self._momentum, self._velocity, strict=True):
            weight = np.float32(_WEIGHTS[first] / self.tau)
            np.multiply(j, u, out=even)
            even *= np.float32(4.5)
            even += base
            even *= weight
            np.multiply(j, 3 * weight, out=odd)
            here, there = f[first, walls], f[first + 1, walls]
            for i, combine, bounced in ((first, np.add, there), (first + 1, np.subtract, here)):
                np.multiply(f[i], keep, out=after)
                after += even
                combine(after, odd, out=after)
                after[walls] = bounced
                by = self._offsets[i]
                # right for a negative offset as well
                f[i, by:], f[i, :by] = after[:-by], after[-by:]
        columns = f.reshape(9, *self.solid.shape)
        columns[:, :, 0] = self._inlet
        columns[_WESTWARD, :, -1] = columns[_WESTWARD, :, -2]


def _equilibrium(
    density: npt.NDArray[np.float64], ux: npt.NDArray[np.float64], uy: npt.NDArray[np.float64]
) -> Field:
    """feq [9, N] of three fields [N]; Qian et al. 1992, Eq. 3."""
    cu = [cx * ux + cy * uy for cx, cy in _VELOCITIES]
    square = 1.5 * (ux**2 + uy**2)
    return np.stack(
        [w * density * (1 + 3 * c + 4.5 * c**2 - square) for w, c in zip(_WEIGHTS, cu, strict=True)]
    ).astype(np.float32)
