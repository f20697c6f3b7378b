"""How an epoch's steps are taken: by our own loop over `Stepper.run`, or by Keras's `fit`. Both
report in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ganboard.gan.events import Losses
from ganboard.gan.training.step import Networks, Stepper, Taken
from ganboard.gan.training.steps_per_call import Pace


@dataclass(frozen=True)
class Report:
    """Consecutive steps that were just taken, and the time they took in seconds, nothing compiled."""

    taken: Taken
    seconds: float


Listener = Callable[[Report], bool]  # answers whether to go on
Agree = Callable[[int], int]  # the number that all processes of a run go by: the first one's


class Runner(Protocol):
    """Takes the steps of an epoch."""

    def warm_up(self, order: np.ndarray[Any, Any]) -> None:
        """Trace and compile all that `epoch` runs: take one step on the first batch of `order` and
        undo it.

        XLA compiles, and libraries choose their kernels, only when a step is executed.
        """

    def epoch(
        self,
        order: np.ndarray[Any, Any],
        first: int,
        global_step: int,
        rates: Losses,
        report: Listener,
    ) -> None:
        """Take steps on the batches of `order` from `first` on, one for each of `rates` [n, 2], and
        report them in portions until a report is answered with False. `global_step` numbers the
        first of them."""


@contextmanager
def undone(nets: Networks) -> Iterator[None]:
    """Afterwards the networks, their optimizers and averages are as before, to the bit."""
    before = nets.arrays()
    yield
    nets.assign(before)


class CustomLoop:
    """Several steps in one call of a graph, as many as Pace finds fit."""

    def __init__(self, stepper: Stepper, agree: Agree) -> None:
        self._stepper, self._agree, self._pace = stepper, agree, Pace()

    def warm_up(self, order: np.ndarray[Any, Any]) -> None:
        with undone(self._stepper.nets):
            self._stepper.run(order, 0, 0, 1)

    def epoch(
        self,
        order: np.ndarray[Any, Any],
        first: int,
        global_step: int,
        rates: Losses,
        report: Listener,
    ) -> None:
        done = 0
        while done < len(rates):
            count = self._agree(min(self._pace.count, len(rates) - done))
            began = time.monotonic()
            taken = self._stepper.run(
                order, first + done, global_step + done, count, rates[done : done + count]
            )
            seconds = time.monotonic() - began
            self._pace.took(seconds, count)
            done += count
            if not report(Report(taken, seconds)):
                return
