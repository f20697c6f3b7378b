"""What a training run tells the world (`Sink`) and what the world may tell it (`Control`). Free of TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

Losses = npt.NDArray[np.float32]
PhaseName = Literal["importing", "loading", "compiling", "training", "saving"]
Outcome = Literal["finished", "stopped", "suspended"]
Verdict = Literal["go", "stop", "suspend"]


@dataclass(frozen=True)
class Phase:
    """The run entered another phase; pages show it beside the progress."""

    name: PhaseName


@dataclass(frozen=True)
class Started:
    """Training is about to begin, or to go on after `start_step` finished steps."""

    hardware: dict[str, Any]  # host, cpu, devices, versions: JSON-ready
    examples: int
    steps_per_epoch: int
    start_step: int
    g_parameters: int
    d_parameters: int


@dataclass(frozen=True)
class Steps:
    """Losses of consecutive steps of one epoch; `first` counts from 0 within the epoch."""

    epoch: int
    first: int
    g_losses: Losses  # [n] float32
    d_losses: Losses  # [n] float32


@dataclass(frozen=True)
class EpochDone:
    """One finished epoch (counted from 1)."""

    epoch: int
    g_loss: float  # mean over the steps, summed in float64
    d_loss: float
    seconds: float  # time of its training steps over all attempts, tracing and compiling left out
    compile_seconds: float  # tracing and compiling that fell into this epoch
    images: int  # real images seen
    g_path: tuple[float, float]  # seeded random projection of G's weights minus their initial value
    d_path: tuple[float, float]


@dataclass(frozen=True)
class Grid:
    """Images generated from the run's fixed latents; epoch 0 is before the first step."""

    epoch: int
    png: bytes
    rows: int
    columns: int


@dataclass(frozen=True)
class Saved:
    """A checkpoint is on disk, flushed and verified."""

    step: int
    epoch: int  # finished epochs
    digest: str  # sha256 of its manifest
    size: int  # bytes


@dataclass(frozen=True)
class Note:
    """Something a person should read on the run's page."""

    level: Literal["info", "warning", "error"]
    text: str


Event = Phase | Started | Steps | EpochDone | Grid | Saved | Note


class Sink(Protocol):
    """Receives every event in order; an exception it raises ends the run's process."""

    def __call__(self, event: Event) -> None: ...


class Control(Protocol):
    """Asked after every call of the training step; must answer at once."""

    def __call__(self) -> Verdict: ...
