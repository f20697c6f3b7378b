"""Monitors of a small run on real digits."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ganboard.gan.config import RunConfig
from ganboard.gan.data import digits
from ganboard.gan.events import Note
from ganboard.gan.presets import load
from ganboard.gan.training.guards.monitors import Monitors

PER_EPOCH = 400
GROWN = 10  # epochs; 4,000 steps at 1e-4 are twice what G needs
SIDE = 4


@cache
def real() -> np.ndarray:
    return digits.load(None).images


def config(**values: Any) -> RunConfig:
    rates = {"g_learning_rate": 1e-4, "d_learning_rate": 2e-4}
    return load("digits", {"grid_size": SIDE, "ema": 0.0, **rates, **values})


def make(**values: Any) -> Monitors:
    return Monitors(config(**values), PER_EPOCH, real())


def levels(notes: list[Note]) -> list[str]:
    return [note.level for note in notes]
