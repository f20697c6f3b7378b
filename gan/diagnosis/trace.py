"""What a run recorded, as the detectors of this package read it. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ganboard.gan.config import RunConfig

Floats = npt.NDArray[np.float64]
Kind = Literal[
    "not_finite",
    "collapse",
    "discriminator",
    "overflow",
    "declined",
    "plateau",
    "spikes",
    "straggler",
    "slow_epochs",
    "restarts",
]
# the gravest first
TITLES: dict[Kind, str] = {
    "not_finite": "Loss is not finite",
    "collapse": "Mode collapse",
    "discriminator": "Overpowering discriminator",
    "overflow": "Skipped updates",
    "declined": "Best images before the end",
    "plateau": "Plateau",
    "spikes": "Loss spikes",
    "straggler": "Slow replica",
    "slow_epochs": "Slow epochs",
    "restarts": "Restarts",
}


@dataclass(frozen=True)
class Evaluations:
    """The evaluations of a run, [m] in the order of their epochs; NaN: not measured."""

    epoch: Floats
    measures: Mapping[str, Floats]
    largest_class: Floats  # share of the commonest class among generated images


@dataclass(frozen=True)
class Trace:
    """The record of one run: epochs [n], steps [s], evaluations [m]. Positions are epochs passed,
    with a fraction for a step."""

    config: RunConfig
    steps_per_epoch: int
    epoch: Floats  # [n] from 1
    attempt: Floats  # [n] that finished each
    seconds: Floats  # [n] of training
    compile_seconds: Floats  # [n]
    measures: Mapping[str, Floats]  # [n] of `gan.events.MEASURES`; NaN: not measured
    losses: Mapping[str, npt.NDArray[np.float32]]  # [s] by net, "g" and "d"
    evaluations: Evaluations
    headline: str  # the name of the main metric, which is better the lower it is
    label: str  # what people call it
    commonest: float = 0.0  # share of the commonest class among real images
    warnings: tuple[tuple[float, str], ...] = ()  # position and text

    def at(self, step: int) -> float:
        """The position of a step, which counts from 0 over the whole run."""
        return (step + 1) / self.steps_per_epoch

    def measure(self, name: str) -> Floats:
        """[n]; NaN where it was not measured."""
        return self.measures.get(name, np.full(len(self.epoch), np.nan))


@dataclass(frozen=True)
class Finding:
    """One thing that a run's record shows, where, and what would change it."""

    kind: Kind
    first: float  # position
    last: float
    evidence: str  # sentences with the numbers that it follows from
    advice: str = ""  # a sentence
    # settings of a clone that follow the advice; empty where no setting does
    remedy: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return TITLES[self.kind]

    @property
    def span(self) -> str:
        """Where it is, in words."""
        first, last = max(1, int(np.ceil(self.first))), max(1, int(np.ceil(self.last)))
        return f"epoch {first}" if first == last else f"epochs {first} to {last}"


def spans(flags: npt.NDArray[np.bool_], least: int = 1) -> list[tuple[int, int]]:
    """First and last index of each unbroken stretch of at least `least` true `flags` [n]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    pairs = edges.reshape(-1, 2)
    return [(int(first), int(end) - 1) for first, end in pairs if end - first >= least]
