"""A Keras callback that reports a training to ganboard."""

from __future__ import annotations

from typing import Any

import keras

from ganboard.worker.external.script import Script


class KerasCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Reports the logs of each batch and epoch, and stops the training when somebody presses Stop.

    Batch logs keep their names: with Keras they are means over the epoch so far. Epoch logs have
    `epoch_` before theirs, but for those of the validation.
    """

    def __init__(self, run: Script) -> None:
        super().__init__()
        self._run = run
        self._step = 0

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._step += 1
        self._run.log(self._step, **_keywords(logs))
        if self._run.should_stop:
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        named = {
            name if name.startswith("val_") else f"epoch_{name}": value
            for name, value in _keywords(logs).items()
        }
        self._run.epoch(epoch + 1, **named)
        if self._run.should_stop:
            self.model.stop_training = True


def _keywords(logs: dict[str, Any] | None) -> dict[str, Any]:
    """Logs, but for what `Script.log` calls otherwise."""
    return {
        str(name): value for name, value in (logs or {}).items() if name not in ("step", "epoch")
    }
