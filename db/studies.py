"""Studies: which there are, which runs they count, and all writes of them. The runs themselves live
on when a study is deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, delete, func
from sqlmodel import col, select

from ganboard.db import ids
from ganboard.db.engine import reading, writing
from ganboard.db.errors import UnknownStudy
from ganboard.db.models import Run, Study, StudyRun
from ganboard.db.runs.commands import add_runs

Wanted = tuple[str, dict[str, Any]]  # name and configuration of a run that is not there yet


def store(
    engine: Engine,
    study: Study,
    *,
    counted: Mapping[str, Sequence[str]],
    missing: Sequence[tuple[Wanted, Sequence[str]]],
    preset: str = "",
    owner: str = "",
) -> list[Run]:
    """Store a study, or add to a stored one: the runs there are, by part, and new ones, each for
    some parts, queued. All or nothing.

    Returns the new runs; the caller enqueues them.
    """
    with writing(engine) as session:
        if session.get(Study, study.id) is None:
            session.add(study)
            session.flush()
        made = add_runs(
            session, [wanted for wanted, _ in missing], preset=preset, sweep=study.id, owner=owner
        )
        links = {(part, run_id) for part, run_ids in counted.items() for run_id in run_ids}
        links |= {
            (part, run.id) for run, (_, parts) in zip(made, missing, strict=True) for part in parts
        }
        known = {
            (row.part, row.run_id)
            for row in session.exec(select(StudyRun).where(StudyRun.study_id == study.id))
        }
        session.add_all(
            StudyRun(study_id=study.id, part=part, run_id=run_id)
            for part, run_id in sorted(links - known)
        )
    return made


def remove(engine: Engine, study_id: str) -> None:
    """Forget a study; its runs stay."""
    with writing(engine) as session:
        session.execute(delete(Study).where(col(Study.id) == study_id))


def find(engine: Engine, text: str) -> Study:
    """The study with this id, or the only one whose id begins with `text`; `latest` is the newest.
    Raises UnknownStudy."""
    with reading(engine) as session:
        return ids.find(
            session, Study, text, what="study", lists="ganboard studies", unknown=UnknownStudy
        )


def get(engine: Engine, study_id: str) -> Study | None:
    with reading(engine) as session:
        return session.get(Study, study_id)


def listed(engine: Engine) -> list[tuple[Study, dict[str, int]]]:
    """All studies, the newest first, each with how many of its runs are in which state."""
    newest = select(Study).order_by(col(Study.created_at).desc(), col(Study.id))
    with reading(engine) as session:
        studies = list(session.exec(newest))
    found = states(engine, [study.id for study in studies])
    return [(study, found[study.id]) for study in studies]


def states(engine: Engine, study_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """How many runs of each of these studies are in which state."""
    counts = (
        select(StudyRun.study_id, Run.status, func.count(func.distinct(Run.id)))
        .join(Run, col(Run.id) == StudyRun.run_id)
        .where(col(StudyRun.study_id).in_(study_ids))
        .group_by(col(StudyRun.study_id), col(Run.status))
    )
    found: dict[str, dict[str, int]] = {study_id: {} for study_id in study_ids}
    with reading(engine) as session:
        for study_id, status, count in session.execute(counts):
            found[study_id][status] = count
    return found


def of_definition(engine: Engine, definition: Mapping[str, Any]) -> Study | None:
    """The newest study that asks exactly this."""
    with reading(engine) as session:
        studies = session.exec(select(Study).order_by(col(Study.created_at).desc()))
        return next((study for study in studies if study.definition == definition), None)


def runs(engine: Engine, study_id: str) -> dict[str, list[Run]]:
    """The runs of each part, in the order in which they were made."""
    rows = (
        select(StudyRun.part, Run)
        .join(Run, col(Run.id) == StudyRun.run_id)
        .where(StudyRun.study_id == study_id)
        .order_by(col(Run.created_at), col(Run.number))
    )
    found: dict[str, list[Run]] = {}
    with reading(engine) as session:
        for part, run in session.execute(rows):
            found.setdefault(part, []).append(run)
    return found
