"""Findings about time: slow epochs, slow replicas, restarts."""

from __future__ import annotations

import numpy as np

from ganboard.gan.diagnosis.trace import Finding, Trace, spans
from ganboard.gan.events import SLOW_REPLICA

EPOCHS = 5  # fewer have no usual duration
SLOW = 1.5  # times the median
LOST = 0.05  # of all training seconds: less is not worth a word


def slow_epochs(trace: Trace) -> list[Finding]:
    """Epochs that took much longer than the others."""
    seconds = trace.seconds
    if len(seconds) < EPOCHS:
        return []
    usual = float(np.median(seconds))
    found = []
    for first, last in spans(seconds > SLOW * usual):
        here = seconds[first : last + 1]
        lost = float(here.sum() - usual * len(here))
        if lost <= LOST * float(seconds.sum()):
            continue
        found.append(
            Finding(
                "slow_epochs",
                float(trace.epoch[first]),
                float(trace.epoch[last]),
                f"{np.mean(here):.3g} s an epoch where the median is {usual:.3g} s:"
                f" {lost:.3g} s lost.",
                "Check under System what else used the machine then.",
            )
        )
    return found


def stragglers(trace: Trace) -> list[Finding]:
    """Replicas that all others waited for, as the monitor warned."""
    return [
        Finding("straggler", at, at, text) for at, text in trace.warnings if SLOW_REPLICA in text
    ]


def restarts(trace: Trace) -> list[Finding]:
    """Where another attempt went on, and what starting again took."""
    # a fork's first own epoch follows epochs of attempt 0
    places = np.flatnonzero((np.diff(trace.attempt) != 0) & (trace.attempt[:-1] > 0)) + 1
    if not len(places):
        return []
    again = float(trace.compile_seconds[places].sum())
    epochs = ", ".join(f"{trace.epoch[place]:g}" for place in places[:5])
    if len(places) > 5:
        epochs += f" and {len(places) - 5} more"
    return [
        Finding(
            "restarts",
            float(trace.epoch[places[0]]),
            float(trace.epoch[places[-1]]),
            f"Another attempt went on in epoch {epochs} ({trace.attempt[-1]:.0f} attempts in all);"
            f" tracing and compiling again took {again:.3g} s. Resumed epochs have the losses of"
            " uninterrupted ones.",
            "Events says why each attempt ended.",
        )
    ]
