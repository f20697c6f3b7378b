"""Which runs a seeded database holds: names, settings, states, and what is special about some of
them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ganboard.gan.presets import load

ALPHABET = np.array(list("abcdefghjkmnpqrstuvwxyz23456789"))  # of db.ids.new_id
TAGS = ("baseline", "bf16", "keep", "paper", "sweep", "to repeat", "xla")
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
NO_EPOCH = "The data set mnist is not in the data directory: put mnist.npz there."
NOT_FINITE = "The losses are not finite: lower the learning rates, or set on_non_finite=roll_back."
DISK = "The disk is full: free some space, then resume."


@dataclass(frozen=True)
class Size:
    """How much is stored; `grids` counts pictures per run."""

    runs: int = 1000
    epochs: int = 30
    steps: int = 1000  # per epoch
    grids: int = 20
    seed: int = 0


@dataclass(frozen=True)
class Planned:
    """One run to be stored, with as many finished `epochs`."""

    id: str
    number: int  # from 1
    name: str
    status: str
    config: dict[str, Any]
    epochs: int
    seconds_per_epoch: float
    grids: bool
    nan_from: int | None  # the step whose losses are the first NaN
    error: str | None
    sweep: str | None
    tags: tuple[str, ...]
    note: str | None
    archived: bool


def plan(size: Size) -> list[Planned]:
    """`size.runs` runs, oldest first: most finished; the newest train and wait."""
    random = np.random.default_rng((size.seed, 0xC0FFEE))
    return [_one(size, number, random) for number in range(1, size.runs + 1)]


def _one(size: Size, number: int, random: np.random.Generator) -> Planned:
    status, epochs, nan_from, error = _fate(size, number, random)
    precision = str(random.choice(PRECISIONS))
    batch = int(random.choice([32, 64, 128, 256, 512]))
    xla = bool(random.random() < 0.3)
    changes = {
        "batch_size": batch,
        "precision": precision,
        "xla": xla,
        "epochs": size.epochs,
        "seed": int(random.integers(100)),
        "g_learning_rate": float(random.choice([5e-5, 1e-4, 2e-4])),
        "schedule": "cosine_restart" if size.epochs >= 17 and random.random() < 0.5 else "constant",
        "quality_every": 5,
    }
    group = number // 25  # every fourth group of 25 runs is a grid
    return Planned(
        id="".join(random.choice(ALPHABET, 10)),
        number=number,
        name=f"{precision.removeprefix('mixed_')} b{batch}{' xla' if xla else ''} #{number}",
        status=status,
        config=load("paper", changes).model_dump(mode="json"),
        epochs=epochs,
        seconds_per_epoch=float(random.uniform(20, 90)),
        grids=bool(random.random() > 0.03),
        nan_from=nan_from,
        error=error,
        sweep=f"sweep{group:05}" if group % 4 == 0 else None,
        tags=tuple(sorted(set(random.choice(TAGS, int(random.integers(0, 4)))))),
        note=(
            "Compare with the run before; the strokes are **thinner**."
            if random.random() < 0.1
            else None
        ),
        archived=status in ("finished", "failed", "stopped") and bool(random.random() < 0.1),
    )


def _fate(
    size: Size, number: int, random: np.random.Generator
) -> tuple[str, int, int | None, str | None]:
    """State, finished epochs, first step with NaN, error."""
    left, draw, part = (
        size.runs - number,
        random.random(),
        int(random.integers(1, max(2, size.epochs))),
    )
    if left < 3:
        return "queued", 0, None, None
    if left == 3:
        return "running", max(1, size.epochs // 2), None, None
    if left == 4:
        return "suspended", part, None, None
    if draw < 0.02:
        return "failed", 0, None, NO_EPOCH
    if draw < 0.05:
        return "failed", part, 0 if draw < 0.03 else part * size.steps // 2, NOT_FINITE
    if draw < 0.08:
        return "failed", part, None, DISK
    if draw < 0.13:
        return "stopped", part, None, None
    return "finished", size.epochs, None, None
