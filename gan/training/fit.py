"""The other approach of the sources: a `keras.Model` with its own `train_step`, compiled and fitted
inside the strategy's scope.

The step itself is that of `gan.training.step`; Keras drives it, one step per call, from a data set
that says which step is due. Measured with Keras 3.15: XLA must not be asked of `compile` and
several steps per execution fail with replicas, so both are left out; XLA compiles the gradient
function inside the step as in the other approach.
"""

from __future__ import annotations

import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.distributed import collectives
from ganboard.gan.events import Losses
from ganboard.gan.training.runner import Agree, Listener, Report, undone
from ganboard.gan.training.step import Stepper
from ganboard.gan.training.steps_per_call import Pace


class Adversaries(keras.Model):  # type: ignore[misc]
    """Both networks as one Keras model; an element of its data set is (examples of the batch,
    number of the step, rates of G and D)."""

    def __init__(self, stepper: Stepper) -> None:
        super().__init__(name="adversaries")
        self.generator, self.discriminator = stepper.nets.generator, stepper.nets.discriminator
        self._stepper = stepper
        # both networks are; fit would otherwise call this model with the data's shape
        self.built = True

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """In each replica: one step, its report summed over all replicas, as fit hands on the
        values of one replica only."""
        return {
            "report": collectives.sum_over_replicas([self._stepper.replica_step(*data)])[0][None]
        }


class FitLoop:
    """Takes the steps of an epoch by `fit`."""

    def __init__(self, stepper: Stepper, agree: Agree) -> None:
        self._stepper, self._agree, self._pace = stepper, agree, Pace()
        self._model = Adversaries(stepper)
        with stepper.strategy.scope():
            self._model.compile(jit_compile=False)

    def warm_up(self, order: np.ndarray[Any, Any]) -> None:
        with undone(self._stepper.nets):
            self._fit(self._data(order, 0, 0, np.zeros([1, 2], np.float32)), 1, [])

    def epoch(
        self,
        order: np.ndarray[Any, Any],
        first: int,
        global_step: int,
        rates: Losses,
        report: Listener,
    ) -> None:
        self._reports: list[Any] = []
        self._began, self._due, self._left = (
            time.monotonic(),
            self._agree(min(self._pace.count, len(rates))),
            len(rates),
        )

        def on_train_batch_end(batch: int, logs: Any) -> None:
            self._reports.append(logs["report"])
            if len(self._reports) == self._due and not self._flush(report):
                self._model.stop_training = True

        callback = keras.callbacks.LambdaCallback(on_train_batch_end=on_train_batch_end)
        self._fit(self._data(order, first, global_step, rates), len(rates), [callback])

    def _fit(self, data: Any, steps: int, callbacks: list[Any]) -> None:
        with self._stepper.strategy.scope():
            self._model.fit(
                data, epochs=1, steps_per_epoch=steps, shuffle=False, verbose=0, callbacks=callbacks
            )

    def _flush(self, report: Listener) -> bool:
        taken = self._stepper.taken(np.stack([np.ravel(one) for one in self._reports]))
        self._left -= self._due
        seconds = time.monotonic() - self._began
        self._pace.took(seconds, self._due)
        going = report(Report(taken, seconds))
        if self._left and going:
            self._reports, self._began, self._due = (
                [],
                time.monotonic(),
                self._agree(min(self._pace.count, self._left)),
            )
        return going

    def _data(
        self, order: np.ndarray[Any, Any], first: int, global_step: int, rates: Losses
    ) -> Any:
        size, strategy = self._stepper.config.batch_size, self._stepper.strategy
        batches = order[first * size : (first + len(rates)) * size].reshape(-1, size)
        steps = tf.data.Dataset.from_tensor_slices(
            (batches, np.arange(global_step, global_step + len(rates)), rates)
        )
        if self._stepper.replicas == 1:
            return steps
        # every replica takes the next element, and all of them work on the same step
        each = steps.flat_map(
            lambda *step: tf.data.Dataset.from_tensors(step).repeat(
                len(strategy.extended.worker_devices)
            )
        )
        return strategy.distribute_datasets_from_function(lambda context: each)
