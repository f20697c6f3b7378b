"""Searches over settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path

from ganboard.db import heartbeats
from ganboard.db.models import Search
from ganboard.db.paging import rows
from ganboard.db.searches import searches
from ganboard.gan import presets
from ganboard.gan.config import model_of
from ganboard.gan.settings.metadata import defaults
from ganboard.worker.api import answers, bodies, paging
from ganboard.worker.api.answers import searches as answered
from ganboard.worker.api.callers import Reading, Writing
from ganboard.worker.context import Context
from ganboard.worker.searches import definition, progress, space
from ganboard.worker.searches import objective as objectives

CREATED = 201
SearchId = Annotated[str, Path(description="An id, the beginning of one, or `latest`.")]
router = APIRouter(tags=["searches"])


@router.get("/searches", summary="List searches, newest first")
def list_searches(
    context: Reading, limit: paging.Limit = paging.USUALLY_LISTED, after: paging.After = None
) -> answers.Page[answered.SearchSummary]:
    found = rows.page(context.engine, Search, limit=limit, after=paging.position(after))
    return paging.answer(found, [_summary(one) for one in found.rows])


@router.post("/plans/search", summary="Estimate a search")
def plan(context: Reading, asked: bodies.Search) -> answered.SearchPlan:
    """Nothing is stored."""
    found = _planned(context, asked)
    likely, low, high = found.total_seconds or (None, None, None)
    return answered.SearchPlan(
        sentences=definition.sentences(found),
        seconds=likely,
        seconds_low=low,
        seconds_high=high,
        refused_share=found.refused_share,
    )


@router.post("/searches", summary="Start a search", status_code=CREATED)
def start(context: Writing, asked: bodies.Search) -> answered.SearchSummary:
    """`ganboard up`, or `ganboard search drive`, submits its runs."""
    return _summary(definition.start(context, _planned(context, asked)))


@router.get("/searches/{search}", summary="Show a search with its trials")
def show(context: Reading, search: SearchId) -> answered.SearchState:
    return _state(context, searches.find(context.engine, search))


@router.post("/searches/{search}/stop", summary="Stop a search")
def stop(
    context: Writing, search: SearchId, asked: bodies.SearchStop | None = None
) -> answered.SearchSummary:
    """Those that train or wait go on, unless `runs` says otherwise."""
    found = searches.find(context.engine, search)
    searches.stop(context.engine, found.id)
    if asked is not None and asked.runs:
        definition.stop_runs(context, found)
    return _summary(searches.find(context.engine, found.id))


@router.post("/searches/{search}/resume", summary="Continue a search, or raise its budget")
def resume(
    context: Writing, search: SearchId, asked: bodies.SearchBudget | None = None
) -> answered.SearchSummary:
    found = searches.find(context.engine, search)
    budget = definition.Budget.of(found)
    if asked is not None:
        budget = replace(budget, **asked.changes())
    return _summary(definition.resume(context, found, budget))


@router.delete("/searches/{search}", summary="Delete a search and its trials", status_code=204)
def delete(context: Writing, search: SearchId) -> None:
    """One that runs must be stopped first. Its runs stay."""
    searches.remove(context.engine, searches.find(context.engine, search).id)


def _planned(context: Context, asked: bodies.Search) -> definition.Plan:
    base = {**(presets.values(asked.preset) if asked.preset is not None else {}), **asked.settings}
    model = model_of({**defaults(base), **base})
    axes = tuple(
        space.axis(name, values) if isinstance(values, str) else space.of_choices(name, values)
        for name, values in asked.vary.items()
    )
    metric = objectives.metrics(model)[0] if asked.metric is None else asked.metric
    return definition.plan(
        context,
        base,
        axes,
        objective=objectives.checked(model, metric, asked.objective, asked.target),
        sampler=asked.sampler,
        pruner=asked.pruner,
        seed=asked.seed,
        budget=definition.Budget(asked.runs, asked.hours, asked.parallel),
        preset=asked.preset or "",
        name=asked.name,
    )


def _summary(found: Search) -> answered.SearchSummary:
    return answered.SearchSummary.model_validate(found)


def _state(context: Context, search: Search) -> answered.SearchState:
    found = progress.read(context, search)
    best = found.best
    driven = any(one.alive for one in heartbeats.search_drivers(context.engine))
    waits = search.state == searches.RUNNING and not driven
    return answered.SearchState.model_validate(
        progress.document(found)
        | {
            "label": found.objective.label,
            "better": "higher" if found.objective.maximize else "lower",
            "method": found.method,
            "finished": found.finished,
            "warning": definition.NO_DRIVER if waits else None,
            "best": best
            and answered.Best(
                trial=best[0].number,
                run=best[0].run.id if best[0].run else None,
                value=best[1],
                params=dict(best[0].params),
            ),
        }
    )
