"""The trials of a search: read with what their runs have reached, submitted and pruned once however
many processes try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, func
from sqlmodel import col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.fence import locked
from ganboard.db.models import ENDED, Event, Metric, Quality, Run, Search, SearchTrial
from ganboard.db.runs.commands import Options, add_runs, stop_within
from ganboard.db.searches.searches import RUNNING


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A metric of a run after an epoch."""

    epoch: int
    value: float
    training_seconds: float  # up to there
    made_at: datetime


@dataclass(frozen=True)
class Trial:
    """A combination, its run, and the run's evaluations in the order of epochs."""

    number: int
    params: Mapping[str, Any]
    problem: str | None  # why it cannot run
    seen_epoch: int
    pruned_epoch: int | None
    run: Run | None  # None: it cannot run, or the run was deleted
    evaluations: tuple[Evaluation, ...]


def of_search(engine: Engine, search_id: str, metric: str) -> list[Trial]:
    """All trials in their order, with the evaluations of `metric`. Runs in the trash count as
    deleted."""
    own = select(SearchTrial).where(SearchTrial.search_id == search_id)
    run_ids = select(SearchTrial.run_id).where(SearchTrial.search_id == search_id)
    evaluated = (
        select(  # type: ignore[call-overload]
            Quality.run_id, Quality.epoch, Metric.value, Quality.training_seconds, Quality.made_at
        )
        .join(Metric)
        .where(col(Quality.run_id).in_(run_ids), col(Metric.name) == metric)
        .order_by(col(Quality.epoch))
    )
    with reading(engine) as session:
        rows = session.exec(own.order_by(col(SearchTrial.number))).all()
        runs = {run.id: run for run in session.exec(select(Run).where(col(Run.id).in_(run_ids)))}
        evaluations: dict[str, list[Evaluation]] = {}
        for run_id, *values in session.execute(evaluated):
            evaluations.setdefault(run_id, []).append(Evaluation(*values))
    return [
        Trial(
            row.number,
            row.params,
            row.problem,
            row.seen_epoch,
            row.pruned_epoch,
            runs.get(row.run_id or ""),
            tuple(evaluations.get(row.run_id or "", ())),
        )
        for row in rows
    ]


def submit(
    engine: Engine,
    search_id: str,
    number: int,
    params: Mapping[str, Any],
    *,
    run: tuple[str, dict[str, Any]] | None = None,
    problem: str | None = None,
) -> tuple[bool, Run | None]:
    """Store the next trial together with its `run` (name and configuration), queued, or with the
    `problem` that lets it have none: all or nothing.

    Whether it was stored: not if the search does not run any more, or if another process has
    stored a trial of this number.
    """
    with writing(engine) as session:
        search = session.get(Search, search_id, with_for_update=True)
        if search is None or search.state != RUNNING:
            return False, None
        counted = select(func.count()).where(SearchTrial.search_id == search_id)
        if session.scalar(counted) != number:
            return False, None
        own: Options = {"preset": search.preset, "sweep": search_id, "owner": search.owner}
        runs = add_runs(session, [run], **own) if run else []
        made = runs[0] if runs else None
        session.add(
            SearchTrial(
                search_id=search_id,
                number=number,
                run_id=made.id if made else None,
                params=dict(params),
                problem=problem,
                created_at=now(),  # type: ignore[arg-type]
            )
        )
    return True, made


def stop(engine: Engine, run_id: str, said: str, *, unstarted: bool = False) -> bool:
    """Stop the run of a trial, only if it is `unstarted` where that is asked for; `said` becomes
    its event. False if it has ended, or was stopped with these words before: a person has resumed
    it and wants all of it."""
    with writing(engine) as session:
        run = locked(session, run_id, trash_too=True)
        before = select(Event.id).where(Event.run_id == run_id, Event.text == said).limit(1)
        if run.status in ENDED or (unstarted and run.attempt):
            return False
        if session.exec(before).first() is not None:
            return False
        return stop_within(session, run, said)


def seen(engine: Engine, search_id: str, number: int, epoch: int, *, prune: bool) -> bool:
    """Store that the pruner has looked at the evaluation of this epoch, together with the stop of
    the run where it said so. False if another process has stored that before."""
    with writing(engine) as session:
        trial = session.get(SearchTrial, (search_id, number), with_for_update=True)
        if trial is None or trial.seen_epoch >= epoch:
            return False
        trial.seen_epoch = epoch
        if prune and trial.run_id is not None:
            run = locked(session, trial.run_id, trash_too=True)
            said = f"Pruned by search {search_id} after the evaluation of epoch {epoch}."
            # a person may have stopped it before
            if run.status not in ENDED and stop_within(session, run, said):
                trial.pruned_epoch = epoch
                run.pruned_at = now()  # type: ignore[assignment]
    return True
