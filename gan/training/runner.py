"""How an epoch's steps are taken: by our own loop over `Stepper.run`, or by Keras's `fit`. Both
report in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ganboard.gan.events import Losses
from ganboard.gan.training.step import Networks, Stepper
from ganboard.gan.training.step_metrics import StepMetrics
from ganboard.gan.training.steps_per_call import StepsPerCall


@dataclass(frozen=True)
class Report:
    """Consecutive steps that were just taken, and their time in seconds, nothing compiled."""

    metrics: StepMetrics
    seconds: float


# around a call that takes so many steps (the second) after so many of the run
Around = Callable[[int, int], AbstractContextManager[None]]
Agree = Callable[[int], int]  # the number that all processes of a run go by: the first one's


def unwatched(step: int, count: int) -> AbstractContextManager[None]:
    return nullcontext()


class Runner(Protocol):
    """Takes the steps of an epoch."""

    def warm_up(self, order: np.ndarray[Any, Any]) -> None:
        """Trace and compile all that `epoch` runs: take one step on the first batch of `order` and
        undo it.

        XLA compiles, and libraries choose their kernels, only when a step is executed.
        """

    def epoch(
        self, order: np.ndarray[Any, Any], first: int, global_step: int, rates: Losses
    ) -> Iterator[Report]:
        """Take steps on the batches of `order` from `first` on, one for each of `rates` [n, 2], and
        report them in portions. `global_step` numbers the first of them.

        No further step is taken while a report is looked at, nor after the iterator is closed, as
        leaving a `for` loop does.
        """


@contextmanager
def undone(nets: Networks) -> Iterator[None]:
    """Afterwards the networks, their optimizers and averages are as before, to the bit."""
    before = nets.arrays()
    yield
    nets.assign(before)


class CustomLoop:
    """Several steps in one call of a graph, as many as StepsPerCall finds fit."""

    def __init__(self, stepper: Stepper, agree: Agree, around: Around = unwatched) -> None:
        self._stepper = stepper
        self._agree = agree
        self._around = around
        self._steps_per_call = StepsPerCall(stepper.together)

    def warm_up(self, order: np.ndarray[Any, Any]) -> None:
        together = self._stepper.together
        with undone(self._stepper.nets):
            self._stepper.run(order, 0, 0, 1)
            if 1 < together <= len(order) // self._stepper.config.batch_size:
                self._stepper.run(order, 0, 0, together)

    def epoch(
        self, order: np.ndarray[Any, Any], first: int, global_step: int, rates: Losses
    ) -> Iterator[Report]:
        done = 0
        while done < len(rates):
            count = self._agree(min(self._count(), len(rates) - done))
            due = rates[done : done + count]
            with self._around(global_step + done, count):
                began = time.monotonic()
                metrics = self._stepper.run(order, first + done, global_step + done, count, due)
                seconds = time.monotonic() - began
            self._steps_per_call.update(seconds, count)
            done += count
            yield Report(metrics, seconds)

    def _count(self) -> int:
        """Steps of the next call: after it all processes must be equal, so that checkpoints and
        stops need no other place."""
        every = self._stepper.config.average_every
        return every if every > 1 else self._steps_per_call.count
