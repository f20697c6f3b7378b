"""What `ganboard.start` returns: the run of a script, watched like any other.

No method waits for anything or raises into the training: errors are logged once as a warning and
listed among the events of the run.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self

from ganboard.worker.external import transports
from ganboard.worker.external.collector import Collector, EpochEnd, Point, moment
from ganboard.worker.external.delivery import Delivery
from ganboard.worker.external.images import BadImages, sheet
from ganboard.worker.external.limits import MAX_NAME, MAX_STEP, MAX_TEXT
from ganboard.worker.external.values import metric, spread

EVERY = 1.5  # seconds between two reports
SAMPLE_SECONDS = 5.0

log = logging.getLogger("ganboard")
Parameters = ParamSpec("Parameters")


def _never_raises(method: Callable[Parameters, None]) -> Callable[Parameters, None]:
    @wraps(method)
    def safe(*given: Parameters.args, **named: Parameters.kwargs) -> None:
        try:
            method(*given, **named)
        except Exception as error:  # whatever it is, the training is worth more
            run: Any = given[0]
            run._warn_once(method.__name__, f"{method.__name__}: {error}")

    return safe


class Script:
    """A run that this process trains. Use it as a context, or call `finish` at the end; at the exit
    of the interpreter it ends by itself."""

    def __init__(
        self,
        run_id: str,
        collector: Collector,
        delivery: Callable[[Callable[[str], None]], Delivery],
    ) -> None:
        self.id = run_id
        self._collector = collector
        self._warned: set[str] = set()
        self._delivery = delivery(self.warn)
        self._pid = os.getpid()
        self._step = 0
        self._signed = False  # images of an earlier call had values below 0
        self._over = False
        self._left = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ganboard", daemon=True)
        self._thread.start()
        atexit.register(self._at_exit)

    @property
    def should_stop(self) -> bool:
        """Whether somebody pressed Stop; a training that wants to obey asks it now and then."""
        return self._delivery.stop

    def log(self, step: int, **metrics: Any) -> None:
        """Metrics after step `step`, counted over the whole training: g_loss and d_loss are drawn
        as the losses of other runs, each other name has a chart of its own.

        Values are numbers or tensors that hold one; NaN and infinity are kept.
        """
        try:
            numbers: dict[str, float] = {}
            for name, value in metrics.items():
                if type(value) is not float:
                    value = self._number(name, value)
                    if value is None:
                        continue
                if len(name) <= MAX_NAME:
                    numbers[name] = value
            if type(step) is not int:
                step = int(step)
            if not self._step <= step <= MAX_STEP and not self._odd(step):
                return
            if self._over:
                self._warn_once("over", "Values logged after finish are not stored.")
                return
            self._step = step
            self._collector.points.append(Point(step, time.time(), numbers))
            self._collector.given += 1
        except Exception as error:
            self._warn_once("log", f"log: {error}")

    @_never_raises
    def epoch(self, epoch: int, **metrics: Any) -> None:
        """The end of epoch `epoch`, from 1, with metrics of the whole epoch."""
        numbers = {name[:MAX_NAME]: self._number(name, value) for name, value in metrics.items()}
        if not 1 <= int(epoch) <= 10_000_000:
            raise ValueError(f"epoch {epoch} is not a number from 1.")
        kept = {name: value for name, value in numbers.items() if value is not None}
        self._collector.epochs.append(EpochEnd(int(epoch), time.time(), self._step, kept))

    @_never_raises
    def histogram(self, step: int, **values: Any) -> None:
        """How the values of an array or tensor of any shape, such as the weights of a layer, are
        spread after a step: each name has a chart of its own."""
        if not 0 <= int(step) <= MAX_STEP:
            raise ValueError(f"step {step} is not a number from 0 to {MAX_STEP}.")
        for name, array in values.items():
            edges, counts = spread(array)
            found = {"name": name[:MAX_NAME], "step": int(step), "time": time.time()}
            self._collector.add_histogram({**found, "edges": edges, "counts": counts})

    @_never_raises
    def images(self, epoch: int, array: Any) -> None:
        """Images after an epoch (0: before the first), as one grid of the first 64: arrays or
        tensors [n, H, W], [n, H, W, C] or [n, C, H, W] with C 1 or 3.

        Integers are 0 to 255; floats are in [-1, 1] if any value of this or an earlier call is
        below 0, else in [0, 1]. Grids of more than 2048 pixels per side are reduced.
        """
        if not 0 <= int(epoch) <= 10_000_000:
            raise BadImages(f"epoch {epoch} is not a number from 0.")
        made = sheet(array, signed=self._signed)
        self._signed = made.signed
        if made.reduced > 1:
            text = f"Images are reduced {made.reduced} times to fit into 2048 pixels per side."
            self._warn_once("reduced", text)
        self._collector.sheets.append((int(epoch), time.time(), made))

    @_never_raises
    def note(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        """An event, listed on the page of the run and marked on its charts."""
        if level not in ("info", "warning", "error"):
            raise ValueError(f"{level!r} is not a level: use info, warning or error.")
        self._collector.events.append((time.time(), level, str(text)[:MAX_TEXT]))

    def write(self, text: str) -> int:
        """Add to the log of the run, as a file: `print(..., file=run)` and
        `logging.StreamHandler(run)` work."""
        self._collector.text.append(str(text))
        return len(text)

    def flush(self) -> None:
        """Files have it; nothing waits."""

    @_never_raises
    def finish(
        self,
        status: Literal["finished", "failed", "stopped"] = "finished",
        error: str | None = None,
        *,
        seconds: float = 10.0,
    ) -> None:
        """End the run and wait up to `seconds` for the last reports; what is not delivered by then
        is in a file, whose path a warning names."""
        if status not in ("finished", "failed", "stopped"):
            raise ValueError(f"{status!r} is not an end: use finished, failed or stopped.")
        if self._over or os.getpid() != self._pid:
            return
        self._end = {"status": status, "error": error, "at": moment(time.time())}
        self._deadline = time.monotonic() + seconds
        self._over = True
        self._wake.set()
        self._thread.join(seconds + transports.SECONDS + 1)
        atexit.unregister(self._at_exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish(*_ending(error, self.should_stop))

    def _at_exit(self) -> None:
        # the interpreter keeps what no one caught
        self.finish(*_ending(getattr(sys, "last_value", None), self.should_stop))

    # --- the calling thread ---

    def _number(self, name: str, value: Any) -> float | None:
        found = metric(value)
        if found is None:
            kind = type(value).__name__
            self._warn_once(
                f"={name}", f"Metric {name[:MAX_NAME]} is a {kind}; only numbers are kept."
            )
        return found

    def _odd(self, step: int) -> bool:
        """Whether to take a step that is no later one."""
        if not 0 <= step <= MAX_STEP:
            self._warn_once("range", f"Step {step} is not a number from 0 to {MAX_STEP}.")
            return False
        text = (
            f"Step {step} was logged after step {self._step}. Count steps over the whole training:"
            " of two values at one step the later is kept."
        )
        self._warn_once("order", text)
        return True

    # --- the thread of the reports ---

    def _work(self) -> None:
        sampler, next_sample = None, time.monotonic()
        while not self._over:
            self._wake.wait(EVERY)
            try:
                if time.monotonic() >= next_sample:
                    next_sample = time.monotonic() + SAMPLE_SECONDS
                    sampler = sampler or _sampler()
                    self._collector.samples.append(sampler())
            except Exception as error:
                self._warn_once("sample", f"The machine cannot be measured: {error}.")
                next_sample = float("inf")
            self._report(None)
        self._report(self._end)
        while not self._delivery.done and time.monotonic() < self._deadline:
            time.sleep(0.1)
            self._delivery.deliver()
        self._delivery.leave()

    def _report(self, end: dict[str, Any] | None) -> None:
        try:
            self._delivery.add(self._collector.report(end))
            self._delivery.deliver(now=end is not None)
        except Exception as error:
            self._warn_once(
                "report", f"A report could not be made: {type(error).__name__}: {error}."
            )

    def warn(self, text: str) -> None:
        """Log a sentence, and list it among the events of the run."""
        log.warning("ganboard: %s", text)
        self._collector.events.append((time.time(), "warning", text))

    def _warn_once(self, kind: str, text: str) -> None:
        if kind not in self._warned and len(self._warned) < 100:
            self._warned.add(kind)
            self.warn(text)


def _sampler() -> Callable[[], dict[str, Any]]:
    from ganboard.worker.training.system_metrics import Meter

    meter = Meter()
    return lambda: {**meter.read(), "at": moment(time.time())}


def _ending(error: BaseException | None, asked: bool) -> tuple[Any, str | None]:
    """How a training ended that left this exception, None: none."""
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return ("stopped" if asked else "finished"), None
    if isinstance(error, KeyboardInterrupt):
        return "stopped", None
    return "failed", f"{type(error).__name__}: {error}"[:MAX_TEXT]
