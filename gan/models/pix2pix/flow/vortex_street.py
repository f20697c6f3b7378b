"""Measuring a vortex street, and its picture. Velocities are lattice fields float32 [2, ny, nx]
(u_x, u_y), in cells per step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ganboard.gan.models.pix2pix.flow.lattice import Field, Flow
from ganboard.gan.models.pix2pix.flow.obstacle import FlowError, Mask, Obstacle

Signal = npt.NDArray[np.floating]

CHANNELS = ("u_x/U - 1", "u_y/U", "vorticity D/U / 3, clipped to [-1, 1]", "obstacle")
PROBE = 3  # diameters behind the obstacle
TAIL = 0.6  # of a signal: what comes before is the start-up
PADDING = 8
MIN_PERIODS, MIN_AMPLITUDE = 3, 0.01  # in the tail, the second in units of U: less is no street
VORTICITY_SCALE = 3  # U/D: the cores of a street have about that much
WILLIAMSON = (49.0, 180.0)  # Reynolds numbers of parallel laminar shedding

# ColorBrewer's RdBu with 5 classes (Brewer & Harrower), from negative (blue) to positive (red); the
# obstacle is dark grey.
_COLOURS = np.array(
    [(5, 113, 176), (146, 197, 222), (247, 247, 247), (244, 165, 130), (202, 0, 32)], np.float64
)
_OBSTACLE = (64, 64, 64)


class Wake(NamedTuple):
    """Profile of the wake across the stream, each [2, ny], in units of U."""

    mean: npt.NDArray[np.float64]
    rms: npt.NDArray[np.float64]  # of the fluctuation about the mean


def probe(obstacle: Obstacle, grid: tuple[int, int]) -> tuple[int, int]:
    """Column and row, `PROBE` diameters behind the obstacle's rear on its middle line."""
    return (
        obstacle.rear(grid) + PROBE * obstacle.diameter,
        obstacle.corner(grid)[1] + obstacle.diameter // 2,
    )


def watch(flow: Flow, steps: int, every: int = 10) -> Signal:
    """u_y/U at the probe after each `every` of the next `steps` steps of `flow`: float64 [steps //
    every]. Raises FlowError."""
    if every < 1 or steps < every:
        raise FlowError(
            f"Watching {steps} steps every {every} gives nothing: watch at least one interval of at"
            " least 1 step."
        )
    column, row = probe(flow.obstacle, flow.grid)
    signal = np.empty(steps // every)
    for i in range(len(signal)):
        flow.step(every)
        signal[i] = flow.velocity_at(column, row)[1] / flow.speed
    return signal


def strouhal(signal: Signal, dt: float, D: float, U: float, share: float = TAIL) -> float | None:
    """St = f D / U, f the strongest frequency in the last `share` of a signal [T] of u_y/U that was
    taken every `dt` steps.

    Hann window, 8 times zero padding. None where there is no street to measure: fewer than 3
    periods, or an amplitude below 0.01 U.
    """
    from scipy.signal.windows import hann  # 60 MB, which a web process need not hold

    tail = _tail(_finite(signal), share)
    if len(tail) < 2 * MIN_PERIODS:
        return None
    tail = tail - tail.mean()
    power = np.abs(np.fft.rfft(tail * hann(len(tail), sym=False), PADDING * len(tail)))
    periods = int(power.argmax()) / PADDING
    if periods < MIN_PERIODS or np.sqrt(2) * tail.std() < MIN_AMPLITUDE:
        return None
    return periods / (len(tail) * dt) * D / U


def williamson(reynolds: float) -> float | None:
    """Strouhal number of a circular cylinder in an unconfined stream; None outside 49 <= Re <= 180,
    where the formula says nothing.

    St = -3.3265/Re + 0.1816 + 1.6e-4 Re (Williamson 1989, "Oblique and parallel modes of vortex
    shedding ...", J. Fluid Mech. 206); the constants are as commonly quoted, not checked against
    the paper.
    """
    low, high = WILLIAMSON
    return -3.3265 / reynolds + 0.1816 + 1.6e-4 * reynolds if low <= reynolds <= high else None


def envelope(signal: Signal) -> Signal:
    """Amplitude [T] of an oscillation [T] about its mean: the modulus of the analytic signal (Gabor
    1946)."""
    from scipy.signal import hilbert  # as in `strouhal`

    signal = _finite(signal)
    # Zeros behind it, since the transform is periodic: a street that is cut off must not ring at
    # its beginning.
    return np.asarray(
        np.abs(hilbert(signal - _tail(signal).mean(), 2 * len(signal))[: len(signal)])
    )


def half_amplitude(signal: Signal) -> int:
    """First sample whose envelope reaches half of what it has in the last 60 % (the median there):
    how long the street took to begin."""
    found = envelope(signal)
    return int(np.argmax(found >= np.median(_tail(found)) / 2))


def wake(columns: npt.NDArray[np.floating], U: float) -> Wake:
    """Mean and RMS profile over time of velocities [T, 2, ny] along one column (`velocity[:, :,
    column]`)."""
    scaled = columns.astype(np.float64) / U
    return Wake(scaled.mean(axis=0), scaled.std(axis=0))


def vorticity(velocity: Field) -> Field:
    """du_y/dx - du_x/dy in 1/step, [ny, nx]: central differences, one-sided in the first and last
    column, periodic in y."""
    return np.asarray(np.gradient(velocity[1], axis=1) - _across(velocity[0]), np.float32)


def divergence(velocity: Field, solid: Mask, D: float, U: float) -> float:
    """RMS of du_x/dx + du_y/dy in units of U/D; 0 in an incompressible flow. Cells beside the
    solid, inlet and outlet are left out."""
    free = ~solid
    for shift, axis in ((1, 0), (-1, 0), (1, 1), (-1, 1)):
        free &= ~np.roll(solid, shift, axis)
    free[:, [0, -1]] = False
    residual = (np.gradient(velocity[0], axis=1) + _across(velocity[1]))[free]
    return float(np.sqrt(np.mean(residual.astype(np.float64) ** 2)) * D / U)


def channels(velocity: Field, solid: Mask, D: float, U: float) -> Field:
    """A frame as the networks see it: float32 [ny, nx, 4], named by `CHANNELS`; in the solid u = 0
    and the vorticity is 0."""
    curl = np.where(solid, 0, np.clip(vorticity(velocity) * (D / U / VORTICITY_SCALE), -1, 1))
    return np.stack(
        [velocity[0] / U - 1, velocity[1] / U, curl, solid],
        axis=-1,
        dtype=np.float32,
        casting="unsafe",
    )


def velocity_of(frame: npt.NDArray[np.floating], U: float) -> Field:
    """The velocity [2, ny, nx] of a frame [ny, nx, 3 or 4]: the way back from `channels`."""
    return np.stack(
        [(frame[..., 0] + 1) * U, frame[..., 1] * U], dtype=np.float32, casting="unsafe"
    )


def paint(field: npt.NDArray[np.floating], solid: Mask) -> npt.NDArray[np.uint8]:
    """A field [ny, nx] of -1 (blue) to 1 (red) as uint8 [ny, nx, 3], clipped. Raises FlowError if
    it is not finite."""
    at = np.linspace(-1, 1, len(_COLOURS))
    colours = (
        np.stack([np.interp(_finite(field), at, channel) for channel in _COLOURS.T], axis=-1)
        .round()
        .astype(np.uint8)
    )
    colours[solid] = _OBSTACLE
    return colours


def _tail(signal: Signal, share: float = TAIL) -> Signal:
    return signal[round((1 - share) * len(signal)) :]


def _across(field: Field) -> Field:
    return np.asarray((np.roll(field, -1, axis=0) - np.roll(field, 1, axis=0)) / 2)


def _finite(values: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """The same in float64; raises FlowError."""
    if bad := int((~np.isfinite(values)).sum()):
        raise FlowError(
            f"{bad:,} of {values.size:,} values are infinite or NaN, none may be: look at the first"
            " step that gave one."
        )
    return values.astype(np.float64)
