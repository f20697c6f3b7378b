"""What measured times say of larger batches, of more replicas and of compiled code, and what they
let one expect.

Pure functions over measured numbers. A forecast is an expectation under its stated assumptions,
never a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class TooFew(ValueError):
    """Measurements that do not determine what was asked of them; the message says what is
    missing."""


@dataclass(frozen=True)
class BatchLaw:
    """Seconds of a pass over n images in batches of B: t(B) = n (b + a / B)."""

    per_step: float  # a: seconds that a step costs whatever its batch
    per_image: float  # b: seconds that each image adds
    per_step_error: float  # standard errors; NaN where the measurements leave none over
    per_image_error: float

    def seconds(self, batch: float, images: float = 1.0) -> float:
        """Expected seconds for `images` in batches of `batch`."""
        return images * (self.per_image + self.per_step / batch)

    @property
    def even_batch(self) -> float:
        """a / b, the batch at which half of a step is fixed cost: beyond it larger batches save
        little. Infinite if images cost nothing."""
        return self.per_step / self.per_image if self.per_image > 0 else math.inf

    def reduction(self, small: float, large: float) -> float:
        """1 - t(large) / t(small): the share of the time that the larger batch saves."""
        return 1 - self.seconds(large) / self.seconds(small)


def fit_batches(batches: npt.ArrayLike, seconds_per_image: npt.ArrayLike) -> BatchLaw:
    """The law that measurements [m] of one machine and configuration follow, each batch as often as
    it was measured.

    Least squares of the relative residuals, as timings scatter by a share of themselves; neither
    constant is below 0. Raises TooFew unless two different batches were measured.
    """
    batch, spent = (
        np.asarray(batches, dtype=np.float64),
        np.asarray(seconds_per_image, dtype=np.float64),
    )
    if len(np.unique(batch)) < 2:
        raise TooFew(
            f"Only batch size {batch[0]:.0f} was measured; at least two are needed."
            if len(batch)
            else "No batch size was measured."
        )
    from scipy.optimize import nnls  # slow to load, and most who import this module never fit

    # relative errors: both columns and the target are divided by t
    columns = np.stack([1 / batch, np.ones_like(batch)], axis=1) / spent[:, None]
    found, residual = nnls(columns, np.ones_like(batch))
    free = found > 0  # a constant at its bound has no error
    left_over = len(batch) - int(free.sum())
    variance = residual**2 / left_over if left_over else math.nan
    errors = np.full(2, math.nan)
    errors[free] = np.sqrt(variance * np.diag(np.linalg.inv(columns[:, free].T @ columns[:, free])))
    return BatchLaw(float(found[0]), float(found[1]), float(errors[0]), float(errors[1]))


def karp_flatt(speedup: float, replicas: int) -> float:
    """The serial fraction that a measured speed-up over one replica shows (Karp & Flatt, CACM
    33(5), 1990); `replicas` is 2 or more."""
    return (1 / speedup - 1 / replicas) / (1 - 1 / replicas)


def amdahl(replicas: npt.ArrayLike, serial: float) -> Floats:
    """Speed-up over one replica when the share `serial` of the work cannot be divided (Amdahl,
    AFIPS 1967)."""
    return 1 / (serial + (1 - serial) / np.asarray(replicas, dtype=np.float64))


def fit_amdahl(speedups: Mapping[int, float]) -> float:
    """The serial fraction that fits speed-ups by number of replicas best, by least squares of 1 /
    speed-up, where it is linear.

    A ring all-reduce, c (p - 1) / p, has the same form: the fraction includes it. Raises TooFew
    without a number above 1.
    """
    more = {count: speedup for count, speedup in speedups.items() if count > 1}
    if not more:
        raise TooFew("Only one replica was measured; at least two are needed.")
    share = np.array([1 - 1 / count for count in more])
    excess = np.array([1 / speedup - 1 / count for count, speedup in more.items()])
    return float(share @ excess / (share @ share))


def speedups(seconds: Mapping[int, float]) -> dict[int, float]:
    """Speed-up over the fewest replicas measured, by the quotient of the replica numbers: seconds
    at 2, 4, 8 count as 1, 2, 4."""
    fewest = min(seconds)
    return {
        count // fewest: seconds[fewest] / spent
        for count, spent in sorted(seconds.items())
        if count % fewest == 0
    }


def held_out(batches: npt.ArrayLike, seconds_per_image: npt.ArrayLike) -> dict[int, float]:
    """Relative error with which `fit_batches` of all other batches predicts the mean of each one:
    predicted / measured - 1.

    Raises TooFew unless three different batches were measured.
    """
    batch, spent = (
        np.asarray(batches, dtype=np.float64),
        np.asarray(seconds_per_image, dtype=np.float64),
    )
    different = np.unique(batch)
    if len(different) < 3:
        raise TooFew("At least three batch sizes are needed for leave-one-out errors.")
    laws = {one: fit_batches(batch[batch != one], spent[batch != one]) for one in different}
    return {
        int(one): law.seconds(one) / float(spent[batch == one].mean()) - 1
        for one, law in laws.items()
    }


def break_even(extra_seconds: float, plain_step: float, compiled_step: float) -> float:
    """Steps until what compiling costs at the start is paid back; infinite if a compiled step is no
    quicker, 0 if nothing was paid."""
    if extra_seconds <= 0:
        return 0.0
    return extra_seconds / (plain_step - compiled_step) if compiled_step < plain_step else math.inf


@dataclass(frozen=True)
class Forecast:
    """Expected seconds of a step over all replicas; `low` and `high` are the 5th and 95th
    percentile of single steps."""

    replicas: int
    seconds: float
    low: float
    high: float
    waiting: float  # share of it in which the quicker replicas wait for the slowest

    def speedup(self, one: Forecast) -> float:
        return one.seconds / self.seconds


def forecast(
    law: BatchLaw,
    *,
    batch: int,
    replicas: int,
    relative_steps: npt.ArrayLike,
    serial: float = 0.0,
    draws: int = 4000,
    seed: int = 0,
) -> Forecast:
    """A step of the global batch `batch` on `replicas` replicas, each with a share of it, that wait
    for the slowest one.

    Assumes that a replica follows `law` (of one replica on the same device), that its steps scatter
    as `relative_steps` [m] (measured seconds of steps over their median) do, independently of the
    others, and that the share `serial` of the divided work stays undivided (`fit_amdahl`). Devices
    that share processors break the first, a busy network the second.
    """
    measured = np.asarray(relative_steps, dtype=np.float64)
    samples = np.random.default_rng(seed).choice(measured, size=(draws, replicas))
    divided = law.per_image * batch * (serial + (1 - serial) / replicas)
    slowest = (law.per_step + divided) * samples.max(axis=1)
    usual = (law.per_step + divided) * float(measured.mean())
    low, high = np.percentile(slowest, (5, 95))
    mean = float(slowest.mean())
    return Forecast(replicas, mean, float(low), float(high), max(0.0, 1 - usual / mean))
