"""Findings about losses and quality over the course of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.gan.config import RunConfig
from ganboard.gan.diagnosis.trace import Finding, Floats, Trace
from ganboard.gan.training.guards.monitors import position

EVALUATIONS = 5  # fewer say nothing about a trend
WORSE = 1.1  # times the best; the difference must exceed the spread between evaluations too
SPIKE = 12.0  # robust standard deviations: noise of a million normal steps stays below 6
VISIBLE = 0.05  # of the range of usual losses: the least standard deviation that counts
BLOCK = 64  # steps whose median and spread a step is compared with
SKIPPED = 0.02  # of all updates
NORMAL = 1.4826  # standard deviation / median absolute deviation of a normal distribution


def not_finite(trace: Trace) -> list[Finding]:
    """The first step whose losses are infinite or NaN."""
    finite = np.isfinite(trace.losses["g"]) & np.isfinite(trace.losses["d"])
    if finite.all():
        return []
    step = int(np.argmin(finite))
    lost = int(len(finite) - finite.sum())
    where = position(trace.steps_per_epoch, step)
    return [
        Finding(
            "not_finite",
            trace.at(step),
            trace.at(len(finite) - 1),
            f"The losses are infinite or NaN from {where} on, in {lost:,} of {len(finite):,}"
            " steps.",
            *_calmer(trace.config),
        )
    ]


def _calmer(config: RunConfig) -> tuple[str, dict[str, Any]]:
    if config.precision == "mixed_float16":
        return "16-bit floats overflow at 65,504; bfloat16 does not.", {
            "precision": "mixed_bfloat16"
        }
    return "Lower the rates of both networks.", {
        "g_learning_rate": config.g_learning_rate / 2,
        "d_learning_rate": config.d_learning_rate / 2,
    }


def overflow(trace: Trace) -> list[Finding]:
    """Updates that mixed_float16 skipped, where they are more than a few."""
    skipped = np.nan_to_num(trace.measure("skipped_steps"))
    total = float(skipped.sum())
    steps = len(trace.epoch) * trace.steps_per_epoch
    if not steps or total <= SKIPPED * steps:
        return []
    places = np.flatnonzero(skipped)
    return [
        Finding(
            "overflow",
            float(trace.epoch[places[0]]),
            float(trace.epoch[places[-1]]),
            f"{total:,.0f} of {steps:,} updates ({total / steps:.0%}) were skipped because a scaled"
            " 16-bit gradient overflowed.",
            "bfloat16 has the range of float32 and skips none.",
            {"precision": "mixed_bfloat16"},
        )
    ]


def spikes(trace: Trace) -> list[Finding]:
    """Single steps whose loss lies far outside that of the steps around them, the first epoch
    aside."""
    found: dict[str, npt.NDArray[np.intp]] = {}
    worst = (0.0, "", 0)
    for net, losses in trace.losses.items():
        deviation = _deviations(losses.astype(np.float64))
        deviation[: trace.steps_per_epoch] = 0
        found[net] = np.flatnonzero(deviation > SPIKE)
        if len(found[net]):
            step = int(deviation.argmax())
            worst = max(worst, (float(deviation[step]), net, step))
    steps = np.unique(np.concatenate(list(found.values())))
    if not len(steps):
        return []
    # a spike of several steps counts once
    count = 1 + int((np.diff(steps) > BLOCK).sum())
    size, net, step = worst
    value = float(trace.losses[net][step])
    remedy = {} if trace.config.clip_norm else {"clip_norm": 1.0}
    many = "One spike" if count == 1 else f"{count:,} spikes"
    return [
        Finding(
            "spikes",
            trace.at(int(steps[0])),
            trace.at(int(steps[-1])),
            f"{many} of more than {SPIKE:g} standard deviations of the steps around. The largest:"
            f" {net.upper()} loss {value:.3g} at {position(trace.steps_per_epoch, step)}"
            f" ({size:.0f} standard deviations).",
            "Clipping the gradients bounds single updates." if remedy else "",
            remedy,
        )
    ]


def _deviations(losses: Floats) -> Floats:
    """[s] distance of each loss from the median of its block, in standard deviations estimated by
    the block's median absolute deviation; 0 where a loss is not finite."""
    blocks = -(-len(losses) // BLOCK)
    padded = np.full(blocks * BLOCK, np.nan)
    padded[: len(losses)] = np.where(np.isfinite(losses), losses, np.nan)
    table = padded.reshape(blocks, BLOCK)
    known = np.isfinite(table).any(axis=1)
    distance = np.zeros_like(table)
    rows = table[known]
    away = np.abs(rows - np.nanmedian(rows, axis=1, keepdims=True))
    spread = NORMAL * np.nanmedian(away, axis=1)
    # a block without noise has no scale of its own
    finite = padded[np.isfinite(padded)]
    usual = np.subtract(*np.percentile(finite, (99, 1))) if len(finite) else 0.0
    floor = max(VISIBLE * float(usual), 1e-6)
    distance[known] = away / np.maximum(spread, floor)[:, np.newaxis]
    return np.nan_to_num(distance.ravel()[: len(losses)])


def quality(trace: Trace) -> list[Finding]:
    """Whether the best evaluation lies well before the end, or the metric stopped improving."""
    values = trace.evaluations.measures.get(trace.headline, np.empty(0))
    known = np.isfinite(values)
    values, epochs = values[known], trace.evaluations.epoch[known]
    if len(values) < EVALUATIONS:
        return []
    # differences of neighbours have twice the variance of one value
    noise = float(NORMAL * np.median(np.abs(np.diff(values))) / np.sqrt(2))
    best = int(values.argmin())
    end = float(np.mean(values[-2:]))
    label, last = trace.label, epochs[-1]
    if best < len(values) - 2 and end > max(WORSE * values[best], values[best] + 2 * noise):
        return [
            Finding(
                "declined",
                float(epochs[best]),
                float(last),
                f"{label} was {values[best]:.3g} after epoch {epochs[best]:g} and is {end:.3g} at"
                f" the end (mean of the last two of {len(values)} evaluations; spread between"
                f" neighbours {noise:.2g}).",
                *_later(trace.config, int(epochs[best])),
            )
        ]
    half = len(values) // 2
    before, after = float(values[:half].min()), float(values[half:].min())
    if before - after < noise:
        return [
            Finding(
                "plateau",
                float(epochs[half - 1]),
                float(last),
                f"{label} was {before:.3g} at best in the first {half} evaluations and"
                f" {after:.3g} in the {len(values) - half} after them: no more than its spread"
                f" between neighbours, {noise:.2g}.",
                *_later(trace.config, int(epochs[best])),
            )
        ]
    return []


def _later(config: RunConfig, best: int) -> tuple[str, dict[str, Any]]:
    """What lets the end of a run be its best: rates that fall, an average of the weights, or an
    earlier end."""
    if config.schedule == "constant":
        return "Rates that fall along a cosine end near the best point.", {
            "schedule": "cosine_restart",
            "schedule_period": float(config.epochs),
            "schedule_depth": 0.95,
        }
    if not config.ema:
        return "An average of G's weights evens out the swings.", {"ema": 0.999}
    if best < config.epochs:
        return "Fewer epochs reach the same.", {"epochs": best}
    return "", {}
