"""How far a run is. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.gan.events import EpochDone, Losses


def _no_losses() -> Losses:
    return np.empty(0, np.float32)


@dataclass
class Progress:
    """Finished steps and epochs, and what the started epoch has so far; all of it is part of a
    checkpoint."""

    step: int = 0
    epoch: int = 0
    g_losses: Losses = field(default_factory=_no_losses)  # [steps of the started epoch] float32
    d_losses: Losses = field(default_factory=_no_losses)
    seconds: float = 0.0
    compile_seconds: float = 0.0
    training_seconds: float = 0.0  # of all steps so far
    rate_factor: float = 1.0  # on both learning rates; halved by a roll-back

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as arrays by name, as `Progress.of` takes it."""
        return {name: np.asarray(value) for name, value in vars(self).items()}

    @classmethod
    def of(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Progress:
        """The progress that `arrays` was made of. Raises TypeError for other names."""
        values: dict[str, Any] = {
            name: value if value.ndim else value.item() for name, value in arrays.items()
        }
        return cls(**values)

    def add(self, g_losses: Losses, d_losses: Losses, seconds: float) -> None:
        """Count steps that were just taken, with their losses [n] and the seconds they took."""
        self.step += len(g_losses)
        self.g_losses = np.concatenate([self.g_losses, g_losses])
        self.d_losses = np.concatenate([self.d_losses, d_losses])
        self.seconds += seconds
        self.training_seconds += seconds

    def finish_epoch(
        self,
        images: int,
        g_path: tuple[float, float],
        d_path: tuple[float, float],
        measures: Mapping[str, float] = MappingProxyType({}),
    ) -> EpochDone:
        """Close the started epoch and sum it up; losses are averaged in float64."""
        self.epoch += 1
        g_loss, d_loss = (
            float(np.mean(losses, dtype=np.float64)) for losses in (self.g_losses, self.d_losses)
        )
        done = EpochDone(
            self.epoch,
            g_loss,
            d_loss,
            self.seconds,
            self.compile_seconds,
            images,
            g_path,
            d_path,
            measures,
        )
        self.g_losses, self.d_losses, self.seconds, self.compile_seconds = (
            _no_losses(),
            _no_losses(),
            0.0,
            0.0,
        )
        return done
