"""Studies: launched, watched, compared with the published claims."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
import pandas as pd
from fastapi import APIRouter, Path

from ganboard.db import studies as stored
from ganboard.db.models import Study
from ganboard.db.paging import rows
from ganboard.gan.studies import NAMES, budgets, built_in, reference_results
from ganboard.gan.studies import Study as Asked
from ganboard.worker.api import answers, bodies, paging, views
from ganboard.worker.api.answers import studies as answered
from ganboard.worker.api.callers import Reading, Writing
from ganboard.worker.context import Context
from ganboard.worker.studies import results
from ganboard.worker.studies import study as work
from ganboard.worker.studies.definition import resolve
from ganboard.worker.studies.results.study_data import StudyData, StudyResult

CREATED = 201
StudyId = Annotated[str, Path(description="An id, the beginning of one, or `latest`.")]
router = APIRouter(tags=["studies"])


@router.get("/studies", summary="List the studies that were launched, newest first")
def list_studies(
    context: Reading, limit: paging.Limit = paging.USUALLY_LISTED, after: paging.After = None
) -> answers.Page[answered.StudySummary]:
    found = rows.page(context.engine, Study, limit=limit, after=paging.position(after))
    states = stored.states(context.engine, [one.id for one in found.rows])
    return paging.answer(found, [_summary(one, states[one.id]) for one in found.rows])


@router.get("/studies/built-in", summary="List the studies that can be launched")
def list_built_in(_: Reading) -> list[answered.BuiltInStudy]:
    return [
        answered.BuiltInStudy(
            name=name,
            title=(about := built_in(name, "tiny")).title,
            purpose=about.purpose,
            budgets=[
                answered.StudyBudget(name=budget, about=its.about)
                for budget, its in budgets(name).items()
            ],
        )
        for name in NAMES
    ]


@router.get("/studies/published", summary="List published results, as printed")
def published(_: Reading) -> answered.Published:
    """On the authors' hardware; not measured here and not counted as runs."""
    return answered.Published(
        documents=[
            answered.PublishedDocument(key=key, **vars(one))
            for key, one in reference_results.DOCUMENTS.items()
        ],
        numbers=[
            answered.PublishedNumber.model_validate(one) for one in reference_results.REFERENCES
        ],
    )


@router.post("/plans/study", summary="Estimate a study")
def plan(context: Reading, asked: bodies.Study) -> answered.StudyPlan:
    """Nothing is stored."""
    needed = work.examine(context, _resolved(asked))
    missing = [one.member.seconds() for one in needed if not one.run_id]
    known = [seconds for seconds in missing if seconds is not None]
    return answered.StudyPlan(
        to_train=len(missing),
        seconds=sum(known),
        unknown=len(missing) - len(known),
        runs=[
            answered.PlannedRun(
                name=one.member.name,
                parts=list(one.parts),
                run=one.run_id,
                seconds=one.member.seconds(),
            )
            for one in needed
        ],
    )


@router.post("/studies", summary="Launch or continue a study", status_code=CREATED)
def launch(context: Writing, asked: bodies.Study) -> answered.LaunchedStudy:
    """Finished runs are used again, also those of other studies; a study that asks the same is gone
    on with, and what was stopped or failed resumed."""
    launched, queued = work.launch(context, _resolved(asked))
    state = _state(context, launched).model_dump()
    return answered.LaunchedStudy.model_validate(state | {"queued": [run.id for run in queued]})


@router.get("/studies/{study}", summary="Show the progress of a study")
def show(context: Reading, study: StudyId) -> answered.StudyState:
    return _state(context, stored.find(context.engine, study))


@router.get("/studies/{study}/runs", summary="List the runs of a study")
def list_runs(context: Reading, study: StudyId) -> list[answered.StudyRun]:
    """Each once, with the parts of the study that count it."""
    parts = stored.runs(context.engine, stored.find(context.engine, study).id)
    runs = {run.id: run for own in parts.values() for run in own}
    return [
        answered.StudyRun.model_validate(
            summary.model_dump()
            | {"parts": [part for part, own in parts.items() if summary.id in {r.id for r in own}]}
        )
        for summary in views.summaries(context, list(runs.values()))
    ]


@router.get("/studies/{study}/results", summary="Show the results of a study")
def show_results(context: Reading, study: StudyId) -> list[answered.StudyResult]:
    """Its figures in the order of the paper: numbers, verdict, the published claim."""
    found = stored.find(context.engine, study)
    runs = work.runs_of(context, found.id)
    data = StudyData.of(context.engine, runs, found.definition)
    made = results.make(data, list(found.definition.get("figures", [])))
    return [_result(one) for one in made]


def _resolved(asked: bodies.Study) -> Asked:
    return resolve(asked.name, asked.budget, asked.settings, asked.seeds)


def _summary(found: Study, states: dict[str, int]) -> answered.StudySummary:
    return answered.StudySummary.model_validate(found.model_dump() | {"runs": states})


def _state(context: Context, found: Study) -> answered.StudyState:
    states = stored.states(context.engine, [found.id])[found.id]
    now = work.progress(context, found.id)
    surface = work.surface(context, found)
    return answered.StudyState.model_validate(
        found.model_dump()
        | {
            "runs": states,
            "finished": now.finished,
            "broken": now.broken,
            "over": now.over,
            "done": now.done,
            "seconds_left": now.seconds_left,
            "training": [run.id for run in now.training],
            "surface": None if surface is None else views.request_state(surface),
        }
    )


def _result(one: StudyResult) -> answered.StudyResult:
    texts = {name: getattr(one, name) for name in ("key", "title", "claim", "verdict", "missing")}
    return answered.StudyResult.model_validate(
        texts
        | {
            "finding": one.finding,
            "how": one.how,
            "table": {"columns": list(map(str, one.table.columns)), "rows": _rows(one.table)},
            "predicted": one.predicted
            and {
                "machine": one.predicted.machine,
                "verdict": one.predicted.verdict,
                "finding": one.predicted.finding,
                "table": _plain(list(one.predicted.table)),
            },
        }
    )


def _rows(table: pd.DataFrame) -> Any:
    return _plain([list(row) for row in table.itertuples(index=False)])


def _plain(values: Any) -> Any:
    """Values of a table as JSON has them: what is not finite is null."""
    return orjson.loads(orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY, default=str))
