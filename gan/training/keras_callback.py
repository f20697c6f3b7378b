"""A Keras callback that reports a training, whoever wrote its loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import keras


class Run(Protocol):
    """What `ganboard.start` returns."""

    @property
    def should_stop(self) -> bool: ...

    def log(self, step: int, **metrics: Any) -> None: ...

    def epoch(self, epoch: int, **metrics: Any) -> None: ...


class KerasCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Reports the logs of each batch and epoch to `run`, and stops the training when somebody
    presses Stop.

    Batch logs keep their names; with Keras they are means over the epoch so far. Epoch logs are
    called `epoch_loss` and the like, those of the validation `val_loss`.
    """

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self._step = 0

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        self._step += 1
        self._run.log(self._step, **_metrics(logs))
        if self._run.should_stop:
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        named = {
            name if name.startswith("val_") else f"epoch_{name}": value
            for name, value in _metrics(logs).items()
        }
        self._run.epoch(epoch + 1, **named)
        if self._run.should_stop:
            self.model.stop_training = True


def _metrics(logs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Logs without names that are arguments of `Run`."""
    taken = ("self", "step", "epoch")
    return {str(name): value for name, value in (logs or {}).items() if name not in taken}
