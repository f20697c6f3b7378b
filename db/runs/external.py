"""Runs that a script of a person's own trains: it creates them, reports and ends them itself.

A script numbers its reports from 1. What is stored of one has natural keys, and the number of the
newest is part of the run, so a repeated report changes nothing. No worker can take such a run over:
when its lease runs out it has failed, and it continues when its script reports again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np
from sqlalchemy import Engine
from sqlmodel import Session, select

from ganboard.db.clock import now
from ganboard.db.engine import TRASH_TOO, writing
from ganboard.db.errors import NotAllowed
from ganboard.db.fence import FINISHED, fence, in_trash, locked, next_number, note
from ganboard.db.models import (
    ENDED,
    Epoch,
    Event,
    Grid,
    LoggedHistogram,
    LoggedValues,
    Run,
    SystemSample,
)
from ganboard.db.runs import runtime_estimation
from ganboard.db.types import Float64s

ATTEMPT = 1  # a script that is started again makes another run
LEASE_SECONDS = 30.0
BLOCK = 4096  # steps whose values are one row
MAX_STEP = 2**31 - 1  # of a column
MAX_METRICS = 200  # names that one run may log
MAX_NAME = 80  # characters of one
MAX_BINS = 2000  # of a histogram

Ending = Literal["finished", "failed", "stopped"]


@dataclass(frozen=True)
class Logged:
    """Values of one metric, [n] each; steps in any order."""

    steps: Float64s  # whole numbers from 0
    times: Float64s  # seconds since 1970
    values: Float64s


@dataclass(frozen=True)
class Happening:
    """Something to be listed among the events of the run."""

    at: datetime
    level: Literal["info", "warning", "error"]
    text: str


@dataclass(frozen=True)
class End:
    """How the script ended the run, and when."""

    status: Ending
    error: str | None = None
    at: datetime | None = None  # None: now


def create(
    engine: Engine,
    *,
    run_id: str,
    name: str,
    config: Mapping[str, Any],
    host: str,
    hardware: Mapping[str, Any],
    steps_per_epoch: int | None = None,
    began_at: datetime | None = None,
) -> None:
    """A run that trains now, or has begun to train at `began_at`. Repeating it changes nothing;
    raises NotAllowed if ganboard trains a run with this id, or it is in the trash."""
    with writing(engine) as session:
        present = session.get(Run, run_id, execution_options=TRASH_TOO)
        if present is not None:
            _check(present)
            if present.deleted_at is not None:
                raise NotAllowed(in_trash(run_id))
            return
        moments: dict[str, Any] = dict.fromkeys(
            ("created_at", "queued_at", "started_at"), began_at or now()
        )
        moments |= {"lease_until": now(LEASE_SECONDS), "phase_since": now(), "progress_at": now()}
        run = Run(
            id=run_id,
            name=name,
            status="running",
            config=dict(config),
            external=True,
            number=next_number(session),
            attempt=ATTEMPT,
            worker=f"script on {host}",
            phase="training",
            hardware=dict(hardware),
            steps_per_epoch=steps_per_epoch,
            **moments,
        )
        session.add(run)
        session.flush()
        note(session, run_id, ATTEMPT, "info", f"Started by a script on {host}.")


def expects(engine: Engine, *, run_id: str, number: int) -> bool:
    """Whether the report of this number is new; then the run is one that trains, even if its lease
    had run out. Raises UnknownRun and NotAllowed."""
    with writing(engine) as session:
        run = locked(session, run_id)
        _check(run)
        if number <= run.reports:
            return False
        if run.status in ENDED:
            run.status, run.phase, run.phase_since = "running", "training", now()  # type: ignore[assignment]
            run.ended_at = run.error = None
            note(session, run_id, ATTEMPT, "info", "The script reports again.")
        if number > run.reports + 1:
            missing = f"{run.reports + 1} to {number - 1}"
            note(
                session, run_id, ATTEMPT, "warning", f"Reports {missing} of the script are missing."
            )
            run.reports = number - 1
        run.lease_until = now(LEASE_SECONDS)  # type: ignore[assignment]
        return True


def add_report(
    engine: Engine,
    *,
    run_id: str,
    number: int,
    seconds: float,
    logged: Mapping[str, Logged],
    rows: Sequence[Epoch | Grid | LoggedHistogram | SystemSample] = (),
    happenings: Sequence[Happening] = (),
    steps_per_epoch: int | None = None,
    end: End | None = None,
) -> bool:
    """Store a report that `expects` has let in, all of it or nothing, and end the run if it is the
    last one.

    `seconds` is how long the script has trained. True when a stop was requested. Raises LeaseLost.
    """
    with writing(engine) as session:
        fence(session, run_id, ATTEMPT, lease_until=now(LEASE_SECONDS))
        run = locked(session, run_id)
        stop = run.stop_requested_at is not None
        if number <= run.reports:  # the same report, sent twice at the same time
            return stop
        run.reports = number
        # samples of the system say nothing of the training
        if logged or not all(isinstance(row, SystemSample) for row in rows):
            run.progress_at = now()  # type: ignore[assignment]
        for name, values in logged.items():
            _merge(session, run_id, name, values)
        _latest(run, logged)
        for row in rows:
            session.merge(row)
        session.flush()
        _sum_up(session, run, seconds)
        run.steps_per_epoch = run.steps_per_epoch or steps_per_epoch
        for one in happenings:
            event = Event(run_id=run_id, attempt=ATTEMPT, at=one.at, level=one.level, text=one.text)
            session.add(event)
        if end is not None:
            _end(session, run, end)
        return stop


def close(engine: Engine, *, run_id: str, end: End) -> None:
    """End a run whose last report has no end; nothing if it has ended. Raises UnknownRun and
    NotAllowed."""
    with writing(engine) as session:
        run = locked(session, run_id)
        _check(run)
        if run.status not in ENDED:
            _end(session, run, end)


def _check(run: Run) -> None:
    if not run.external:
        raise NotAllowed(f"Run {run.id} is trained by ganboard and takes no reports of scripts.")


def _merge(session: Session, run_id: str, name: str, new: Logged) -> None:
    """Add values to their blocks; a later value of a step replaces an earlier one."""
    blocks = new.steps // BLOCK
    for block in np.unique(blocks).tolist():
        key = (run_id, name, int(block))
        row = session.get(LoggedValues, key)
        own = blocks == block
        parts = [new.steps[own], new.times[own], new.values[own]]
        if row is not None:
            stored = (row.steps, row.times, row.values)
            parts = [np.concatenate(pair) for pair in zip(stored, parts, strict=True)]
        else:
            row = LoggedValues(run_id=run_id, name=name, block=int(block))  # type: ignore[call-arg]
        last = len(parts[0]) - 1 - np.unique(parts[0][::-1], return_index=True)[1]
        row.steps, row.times, row.values = (part[last] for part in parts)
        session.add(row)


def _latest(run: Run, logged: Mapping[str, Logged]) -> None:
    for name, values in logged.items():
        newest = int(values.steps.max())
        run.step = max(run.step, newest)
        if name in ("g_loss", "d_loss"):
            setattr(run, name, float(values.values[values.steps == newest][-1]))


def _sum_up(session: Session, run: Run, seconds: float) -> None:
    """Epochs, training time and speed: those of the finished epochs, if the script tells of any."""
    timed = session.execute(
        select(Epoch.epoch, Epoch.images, Epoch.seconds).where(Epoch.run_id == run.id)
    ).all()
    run.epoch = max((epoch for epoch, _, _ in timed), default=0)
    run.seconds = sum(passed for _, _, passed in timed) if timed else seconds
    run.images_per_second = runtime_estimation.images_per_second(
        (images, passed) for _, images, passed in timed
    )


def _end(session: Session, run: Run, end: End) -> None:
    run.status, run.error = end.status, end.error
    run.ended_at = end.at or now()  # type: ignore[assignment]
    run.worker = run.lease_until = run.phase = None
    text = {"finished": FINISHED, "stopped": "Stopped.", "failed": end.error or "Failed."}
    level = "error" if end.status == "failed" else "info"
    note(session, run.id, run.attempt, level, text[end.status])
