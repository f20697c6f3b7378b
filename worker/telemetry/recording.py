"""The traces of a run: what others call where something of a run's life begins or ends.

One trace per run, whatever process sends its spans: `submit` is the root, below it `queue` and
`attempt` for every attempt, below that `start`, `epoch`, `evaluate`, `save checkpoint`. The
work-horse makes the former from the database as they end, the trainer those of its own attempt.
Nothing here may end a run: what goes wrong is logged, and the run goes on without traces.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ganboard.worker.context import Context
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.telemetry import environment

if TYPE_CHECKING:
    from ganboard.worker.telemetry.tracer import Tracer
    from ganboard.worker.telemetry.training import Spans

log = logging.getLogger("ganboard.telemetry")

DIED_SECONDS = 10.0  # less than a worker may go without a heartbeat


@dataclass
class Watched:
    """What the process that starts a trainer saw of it."""

    phase: str | None = None  # in which it ended without a word


@contextmanager
def of_attempt(context: Context, run_id: str, attempt: int) -> Iterator[Watched]:
    """Around an attempt, in the process that starts its trainer: its place in the queue before it,
    and the attempt itself."""
    watched = Watched()
    with _tracer(run_id) as tracer:
        if tracer is None:
            yield watched
            return
        from ganboard.worker.telemetry import attempts

        with _harmless():
            attempts.queued(tracer, context.engine, run_id, attempt)
        try:
            yield watched
        finally:
            with _harmless():
                attempts.end(tracer, context.engine, run_id, attempt, watched.phase)


def died(run_id: str, attempt: int) -> None:
    """An attempt whose processes ended without a word, once the database says so. From a process of
    its own: a worker that forks can have no thread that sends."""
    if environment.wanted():
        command = [sys.executable, "-m", "ganboard.worker.telemetry.died", run_id, str(attempt)]
        with _harmless():
            subprocess.run(command, env=environment_for_child(), timeout=DIED_SECONDS)


def send_died(context: Context, run_id: str, attempt: int) -> None:
    """What `died` does in its process."""
    with _tracer(run_id) as tracer, _harmless():
        if tracer is not None:
            from ganboard.worker.telemetry import attempts

            attempts.end(tracer, context.engine, run_id, attempt)


@contextmanager
def of_training(context: Context, run_id: str, attempt: int) -> Iterator[Spans | None]:
    """In the trainer: a sink that makes spans of what it receives, or None."""
    with _tracer(run_id) as tracer:
        if tracer is None:
            yield None
            return
        from ganboard.worker.telemetry import attempts
        from ganboard.worker.telemetry.training import Spans

        claimed = time.time()
        with _harmless():
            claimed = attempts.began(context.engine, run_id, attempt)
        spans = Spans(tracer, run_id, attempt, claimed)
        try:
            yield spans
        finally:
            with _harmless():
                spans.close()


@contextmanager
def _tracer(run_id: str) -> Iterator[Tracer | None]:
    tracer = _opened(run_id) if environment.wanted() else None
    try:
        yield tracer
    finally:
        if tracer is not None:
            tracer.close()


def _opened(run_id: str) -> Tracer | None:
    try:
        environment.exporters()
        from ganboard.worker.telemetry.tracer import Tracer

        return Tracer(run_id)
    except environment.NoExporter as error:
        log.warning("%s The run trains without traces.", error)
    except Exception as error:  # an exporter raises what it likes at variables it cannot read
        log.warning("Traces cannot be sent (%s). The run trains without them.", error)
    return None


@contextmanager
def _harmless() -> Iterator[None]:
    try:
        yield
    except Exception:
        log.warning("Some spans are missing from the traces.", exc_info=True)
