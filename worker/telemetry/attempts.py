"""Spans made of what the database recorded: the submission of a run, its waits, its attempts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from ganboard.db.models import ACTIVE, Event, Run
from ganboard.db.runs import queries
from ganboard.worker.telemetry import identity
from ganboard.worker.telemetry.tracer import Moment, Tracer

SETTINGS = ("model", "dataset", "strategy", "replicas", "batch_size", "epochs", "precision")
STARTING = ("starting", "importing", "loading", "building", "compiling")  # phases of a start
# how an attempt ended whose run was queued again, by the level of its last event
REQUEUED = {"info": "suspended", "warning": "died", "error": "failed"}
TAKEN_OVER = "The attempt ended without a word, and another one has taken over"


def queued(tracer: Tracer, engine: Engine, run_id: str, attempt: int) -> None:
    """What had ended when `attempt` was claimed: the submission, and its wait in the queue."""
    run, events = _recorded(engine, run_id)
    submit, claimed = identity.submit_id(run_id), _began(events, attempt)
    queued = _seconds(run.queued_at)
    if attempt == 1:
        tracer.span(
            "submit",
            _seconds(run.created_at),
            queued,
            parent=None,
            span_id=submit,
            attributes=_attributes(run),
        )
    elif queued < (before := _began(events, attempt - 1)):
        # never queued again: its lease ran out, and nobody has recorded an end
        _attempt(tracer, run, events, attempt - 1, "died", end=claimed, error=TAKEN_OVER)
        return
    else:
        queued = max(queued, before)
    if queued <= claimed:
        tracer.span(
            "queue", queued, claimed, parent=submit, attributes={"ganboard.attempt": attempt}
        )


def end(
    tracer: Tracer, engine: Engine, run_id: str, attempt: int, phase: str | None = None
) -> None:
    """The attempt, if it is over and not taken over; its start too where the trainer died in a
    `phase` of that."""
    run, events = _recorded(engine, run_id)
    last = _of(events, attempt)[-1]
    if run.attempt == attempt:
        if run.status in ACTIVE:
            return
        outcome = "died" if run.status == "queued" else run.status
    # another one has begun, which says so itself where the run was never queued again
    elif _seconds(run.queued_at) < _began(events, attempt):
        return
    else:
        outcome = REQUEUED[last.level]
    error = last.text if outcome in ("died", "failed") else None
    ended = _seconds(last.at)
    if phase in STARTING:
        tracer.span(
            "start",
            _began(events, attempt),
            ended,
            parent=identity.attempt_id(run_id, attempt),
            span_id=identity.start_id(run_id, attempt),
            attributes={"ganboard.attempt": attempt},
            error=error,
        )
    _attempt(tracer, run, events, attempt, outcome, end=ended, error=error)


def began(engine: Engine, run_id: str, attempt: int) -> float:
    """When an attempt was claimed, in seconds since 1970."""
    return _began(queries.events(engine, run_id, limit=None)[::-1], attempt)


def _attempt(
    tracer: Tracer,
    run: Run,
    events: list[Event],
    attempt: int,
    outcome: str,
    *,
    end: float,
    error: str | None,
) -> None:
    tracer.span(
        "attempt",
        _began(events, attempt),
        end,
        parent=identity.submit_id(run.id),
        span_id=identity.attempt_id(run.id, attempt),
        linked=identity.attempt_id(run.id, attempt - 1) if attempt > 1 else None,
        attributes={
            **_attributes(run),
            "ganboard.attempt": attempt,
            "ganboard.outcome": outcome,
            "ganboard.epochs_finished": run.epoch,
            "ganboard.steps_finished": run.step,
        },
        moments=[
            Moment(_seconds(event.at), event.text, {"ganboard.level": event.level})
            for event in _of(events, attempt)
        ],
        error=error,
    )


def _recorded(engine: Engine, run_id: str) -> tuple[Run, list[Event]]:
    """The run, and its events in their order."""
    run = queries.get_run(engine, run_id, trash_too=True)
    assert run is not None, "a run that was claimed has a row"
    return run, queries.events(engine, run_id, limit=None)[::-1]


def _of(events: list[Event], attempt: int) -> list[Event]:
    return [event for event in events if event.attempt == attempt]


def _began(events: list[Event], attempt: int) -> float:
    """When an attempt was claimed, which its first event says."""
    return _seconds(_of(events, attempt)[0].at)


def _attributes(run: Run) -> dict[str, Any]:
    settings = {f"ganboard.{name}": run.config.get(name) for name in SETTINGS}
    return {"ganboard.run.name": run.name, "ganboard.preset": run.preset or None, **settings}


def _seconds(moment: datetime) -> float:
    return moment.timestamp()
