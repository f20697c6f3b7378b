"""How an epoch's steps are taken: by our own loop over `Stepper.run`, or by Keras's `fit`. Both report in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gan.events import Losses
from gan.pace import Pace
from gan.step import Stepper, Taken


@dataclass(frozen=True)
class Report:
    """Consecutive steps that were just taken, and the time they took in seconds."""

    taken: Taken
    seconds: float
    compile_seconds: float  # beyond `seconds`; may be what an earlier report counted as training


Listener = Callable[[Report], bool]  # answers whether to go on
Agree = Callable[[int], int]  # the number that all processes of a run go by: the first one's


class Runner(Protocol):
    """Takes the steps of an epoch."""

    def trace(self, order: np.ndarray[Any, Any]) -> None:
        """Build the training function without taking a step."""

    def epoch(self, order: np.ndarray[Any, Any], first: int, global_step: int, rates: Losses, report: Listener) -> None:
        """Take steps on the batches of `order` from `first` on, one for each of `rates` [n, 2], and report them in portions until a
        report is answered with False. `global_step` numbers the first of them."""


class CustomLoop:
    """Several steps in one call of a graph, as many as Pace finds fit."""

    def __init__(self, stepper: Stepper, agree: Agree) -> None:
        self._stepper, self._agree, self._pace = stepper, agree, Pace()

    def trace(self, order: np.ndarray[Any, Any]) -> None:
        self._stepper.run(order, 0, 0, 0)

    def epoch(self, order: np.ndarray[Any, Any], first: int, global_step: int, rates: Losses, report: Listener) -> None:
        done = 0
        while done < len(rates):
            count = self._agree(min(self._pace.count, len(rates) - done))
            began = time.monotonic()
            taken = self._stepper.run(order, first + done, global_step + done, count, rates[done : done + count])
            times = self._pace.split(time.monotonic() - began, count)
            done += count
            if not report(Report(taken, *times)):
                return
        self._pace.end_epoch()
