"""The other approach of the sources: a `keras.Model` with its own `train_step`, compiled and fitted
inside the strategy's scope.

The step itself is that of `gan.training.step`; Keras drives it, one step per call, from a data set
that says which step is due. Measured with Keras 3.15: XLA must not be asked of `compile` and
several steps per execution fail with replicas, so both are left out; XLA compiles the gradient
function inside the step as in the other approach.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.distributed import collectives
from ganboard.gan.events import Losses
from ganboard.gan.training.runner import Agree, Around, Report, undone, unwatched
from ganboard.gan.training.step import Stepper
from ganboard.gan.training.steps_per_call import StepsPerCall


class Adversaries(keras.Model):  # type: ignore[misc]
    """Both networks as one Keras model; an element of its data set is (examples of the batch,
    number of the step, rates of G and D)."""

    def __init__(self, stepper: Stepper) -> None:
        super().__init__(name="adversaries")
        self.generator = stepper.nets.generator
        self.discriminator = stepper.nets.discriminator
        self._stepper = stepper
        # both networks are; fit would otherwise call this model with the data's shape
        self.built = True

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """In each replica: one step, its report summed over all replicas, as fit hands on the
        values of one replica only."""
        [report] = collectives.sum_over_replicas([self._stepper.replica_step(*data)])
        return {"report": report[None]}


class FitLoop:
    """Takes the steps of an epoch by one call of `fit`."""

    def __init__(self, stepper: Stepper, agree: Agree, around: Around = unwatched) -> None:
        self._stepper = stepper
        self._agree = agree
        self._around = around
        self._steps_per_call = StepsPerCall()
        self._model = Adversaries(stepper)
        with stepper.strategy.scope():
            self._model.compile(jit_compile=False)

    def warm_up(self, order: np.ndarray[Any, Any]) -> None:
        with undone(self._stepper.nets):
            self._fit(order, 0, 0, np.zeros([1, 2], np.float32), [])

    def epoch(
        self, order: np.ndarray[Any, Any], first: int, global_step: int, rates: Losses
    ) -> Iterator[Report]:
        left = len(rates)
        with _Portions(
            lambda each: self._fit(order, first, global_step, rates, [each])
        ) as portions:
            while left:
                count = self._agree(min(self._steps_per_call.count, left))
                with self._around(global_step + len(rates) - left, count):
                    began = time.monotonic()
                    rows = np.stack(portions.take(count))
                    seconds = time.monotonic() - began
                self._steps_per_call.update(seconds, count)
                left -= count
                yield Report(self._stepper.unpack(rows), seconds)

    def _fit(
        self,
        order: np.ndarray[Any, Any],
        first: int,
        global_step: int,
        rates: Losses,
        callbacks: list[keras.callbacks.Callback],
    ) -> None:
        data = self._data(order, first, global_step, rates)
        with self._stepper.strategy.scope(), self._stepper.reading(order, first):
            self._model.fit(
                data,
                epochs=1,
                steps_per_epoch=len(rates),
                shuffle=False,
                verbose=0,
                callbacks=callbacks,
            )

    def _data(
        self, order: np.ndarray[Any, Any], first: int, global_step: int, rates: Losses
    ) -> Any:
        size = self._stepper.config.batch_size
        strategy = self._stepper.strategy
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


class _Portions(keras.callbacks.Callback):  # type: ignore[misc]
    """The steps of one `fit` in portions, each run on request. `fit` uses callbacks and does not
    return control, so it runs in its own thread. That thread and the requesting one never run at
    the same time.
    """

    def __init__(self, fit: Callable[[keras.callbacks.Callback], None]) -> None:
        super().__init__()
        self._wanted: SimpleQueue[int] = SimpleQueue()  # steps; 0: no more
        self._taken: SimpleQueue[list[Any] | BaseException] = SimpleQueue()
        self._reports: list[Any] = []
        self._count = 0  # wanted reports
        self._thread = threading.Thread(target=self._run, args=(fit,), name="fit", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wanted.put(0)
        self._thread.join()

    def take(self, count: int) -> list[Any]:
        """Let `fit` take `count` more steps, no more than it has left; returns their packed
        reports. Raises whatever `fit` raises."""
        self._wanted.put(count)
        taken = self._taken.get()
        if isinstance(taken, BaseException):
            raise taken
        return taken

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._reports.append(np.ravel(logs["report"]))
        if len(self._reports) == self._count:
            reports, self._reports = self._reports, []
            self._taken.put(reports)
            self._count = self._wanted.get()
            if not self._count:
                self.model.stop_training = True

    def _run(self, fit: Callable[[keras.callbacks.Callback], None]) -> None:
        self._count = self._wanted.get()
        if not self._count:
            return
        try:
            fit(self)
            self._taken.put(RuntimeError("fit ended after fewer steps than requested."))
        except BaseException as error:  # raised again where the steps are requested
            self._taken.put(error)
