"""Spans of what a trainer reports, while it trains."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from ganboard.gan.events import EpochDone, Event, Note, Phase, PhaseProgress, Quality, Saved, Steps
from ganboard.worker.telemetry import identity
from ganboard.worker.telemetry.tracer import Tracer

log = logging.getLogger("ganboard.telemetry")

# spans of phases by their name; training has epochs instead
START = {
    "importing": "import TensorFlow",
    "loading": "load data",
    "building": "build networks",
    "compiling": "compile step",
}
LATER = {"evaluating": "evaluate", "saving": "save checkpoint"}


class Spans:
    """A `Sink` that hands spans to the SDK, which sends them in its own thread."""

    def __init__(self, tracer: Tracer, run_id: str, attempt: int, claimed: float) -> None:
        """The attempt was `claimed` at this moment, in seconds since 1970."""
        self._tracer = tracer
        self._attempt = identity.attempt_id(run_id, attempt)
        self._start = identity.start_id(run_id, attempt)
        self._number = attempt
        self._claimed: float | None = claimed  # None: the start is over
        self._phase: str | None = None
        self._since = 0.0  # of the phase
        self._idle = 0.0  # since when only steps have been taken
        self._epoch: tuple[int, float] | None = None  # that is being trained, and since when
        self._found: Mapping[str, float] = {}  # by the phase, for its span
        self._broken = False

    def __call__(self, event: Event) -> None:
        if self._broken or isinstance(event, Note | PhaseProgress):  # notes: also of other threads
            return
        try:
            self._take(event, time.time())
        except Exception:  # a sink that raises would end the run
            self._broken = True
            log.warning("No more spans of this attempt.", exc_info=True)

    def close(self) -> None:
        """What is not over when the attempt ends."""
        now = time.time()
        self._end_phase(now)
        self._end_start(now)
        if self._epoch is not None:
            number, since = self._epoch
            values = {"ganboard.epoch": number, "ganboard.epoch.complete": False}
            self._span("epoch", since, now, values)

    def _take(self, event: Event, now: float) -> None:
        match event:
            case Phase():
                self._enter(event.name, now)
            case Steps():
                if self._epoch is None:
                    self._epoch = event.epoch, self._idle
                return
            case EpochDone():
                self._end_epoch(event, now)
            case Quality():
                self._found = {
                    "ganboard.epoch": event.epoch,
                    "ganboard.seconds": event.seconds,
                    "ganboard.preparation_seconds": event.preparation_seconds,
                    **{f"ganboard.{name}": value for name, value in event.measures.items()},
                }
            case Saved():
                self._found = {
                    "ganboard.step": event.step,
                    "ganboard.epoch": event.epoch,
                    "ganboard.bytes": event.size,
                }
        self._idle = now

    def _enter(self, phase: str, now: float) -> None:
        if phase == self._phase:
            return
        self._end_phase(now)
        if phase == "compiling":
            self._epoch = None  # steps that were reported again belong to no epoch of this attempt
        if phase == "training":
            self._end_start(now)
        self._phase, self._since = phase, now

    def _end_phase(self, now: float) -> None:
        phase, self._phase = self._phase, None
        if phase in START:
            self._span(START[phase], self._since, now, parent=self._start)
        elif phase in LATER:
            self._span(LATER[phase], self._since, now, self._found)
        self._found = {}

    def _end_start(self, now: float) -> None:
        if self._claimed is None:
            return
        begin, self._claimed = self._claimed, None
        self._span("start", begin, now, span_id=self._start)

    def _end_epoch(self, done: EpochDone, now: float) -> None:
        since = self._epoch[1] if self._epoch else self._idle
        self._epoch = None
        values = {
            "ganboard.epoch": done.epoch,
            "ganboard.epoch.complete": True,
            "ganboard.g_loss": done.g_loss,
            "ganboard.d_loss": done.d_loss,
            "ganboard.seconds": done.seconds,
            "ganboard.compile_seconds": done.compile_seconds,
            "ganboard.images": done.images,
        }
        self._span("epoch", since, now, values)

    def _span(
        self,
        name: str,
        begin: float,
        end: float,
        values: Mapping[str, float] | None = None,
        *,
        parent: int | None = None,
        span_id: int | None = None,
    ) -> None:
        self._tracer.span(
            name,
            begin,
            end,
            parent=self._attempt if parent is None else parent,
            span_id=span_id,
            attributes={"ganboard.attempt": self._number, **(values or {})},
        )
