"""The learning rates of a run as a pure function of the step, so that a resumed run takes up the
rates where it left them.

What the rates are made of, each a factor on the rate that was set: scaling with the batch x warm-up
x schedule. Free of TensorFlow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.gan.config import RunConfig
from ganboard.gan.events import Losses

Reals = npt.NDArray[np.float64]


def rates(
    config: RunConfig,
    steps_per_epoch: int,
    steps: npt.NDArray[np.integer[Any]],
    factor: float = 1.0,
) -> tuple[Losses, Losses]:
    """Nominal learning rates of G and D, [n] float32 each, in the steps numbered `steps` ([n],
    counted from 0 over the whole run).

    Each is learning_rate * `factor` * scaling * warm-up * schedule; the last two are at most 1, and
    schedule_for names the net or nets that the schedule moves. Its epochs count from the start of
    the run, warm-up included. `factor` is what a roll-back asks for.
    """
    shared = factor * scaling(config) * _warmup(config, steps_per_epoch, steps)
    moving = shared * _schedule(config, steps_per_epoch, steps)
    g, d = (
        rate * (moving if config.schedule_for in ("both", net) else shared)
        for net, rate in (
            ("generator", config.g_learning_rate),
            ("discriminator", config.d_learning_rate),
        )
    )
    return g.astype(np.float32), d.astype(np.float32)


def scaling(config: RunConfig) -> float:
    """Factor on both rates for a batch of another size than the one they were chosen for, with k =
    batch_size / lr_base_batch.

    linear: k, so that one large step goes as far as k small ones (Goyal et al. 2017, section 2.1).
    sqrt: k ** 0.5, which keeps the variance of an update (Krizhevsky 2014, section 5; Hoffer et al.
    2017, section 4).
    """
    k = config.batch_size / config.lr_base_batch
    return {"none": 1.0, "linear": k, "sqrt": math.sqrt(k)}[config.lr_scaling]


def _warmup(config: RunConfig, steps_per_epoch: int, steps: npt.NDArray[np.integer[Any]]) -> Reals:
    """Gradual warm-up (Goyal et al. 2017, section 2.2): w steps rise by equal parts, and the last
    of them has the full rate."""
    w = max(1.0, config.warmup_epochs * steps_per_epoch)
    return np.minimum(1.0, (steps + 1) / w)


def _schedule(
    config: RunConfig, steps_per_epoch: int, steps: npt.NDArray[np.integer[Any]]
) -> Reals:
    """Factor [n] between 1 - schedule_depth and 1.

    cosine_restart: SGDR (Loshchilov & Hutter 2017, Eq. 5, T_mult = 1) from 1 down towards 1 -
    schedule_depth, and back to 1 with the first step of every period; T_cur counts what was
    finished before the step, as there.

    cyclic: a cosine with its minima at the epochs schedule_minimum + k * schedule_period and its
    maxima, exactly 1, half way between. Figure 9 plots one value per finished epoch, so here a step
    stands where it ends, (step + 1) / steps_per_epoch: both the last rate and the mean rate of an
    epoch are lowest in epochs 7 and 24 by default. The figure reads as r (1 + a cos(2 pi (e - 15.5)
    / 17)), which is the same curve with r = learning_rate (1 - depth / 2) and a = depth / (2 -
    depth): ours never exceeds the rate that was set, theirs oscillates around it. depth = 1 reaches
    a rate of zero at the minima.
    """
    period = config.schedule_period * steps_per_epoch
    fall: Reals = np.zeros(len(steps))  # 0 at the full rate, 1 at the lowest
    if config.schedule == "cosine_restart":
        fall = (1 - np.cos(np.pi * (steps / period % 1))) / 2
    elif config.schedule == "cyclic":
        fall = (
            1 + np.cos(2 * np.pi * (steps + 1 - config.schedule_minimum * steps_per_epoch) / period)
        ) / 2
    return 1 - config.schedule_depth * fall
