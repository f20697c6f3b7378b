"""Loss surfaces with the paths of runs, computed by an analysis worker."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlmodel import col

from ganboard.db import requests
from ganboard.db.models import Request
from ganboard.db.paging import rows
from ganboard.gan.landscape.geometry import SurfaceRequest
from ganboard.worker.api import answers, bodies, paging, views
from ganboard.worker.api.answers import surfaces as answered
from ganboard.worker.api.callers import Reading, Refused, Writing
from ganboard.worker.context import Context
from ganboard.worker.requests import surfaces

ACCEPTED = 202
router = APIRouter(tags=["surfaces"])


@router.post("/runs/{run}/surfaces", summary="Request a loss surface", status_code=ACCEPTED)
def ask(context: Writing, run: str, asked: bodies.Surface | None = None) -> answered.SurfaceState:
    """Through the end of the run, with the path of its weights. It is computed when all runs have
    ended; what waits already is not asked twice."""
    names = [run, *(asked.others if asked else ())]
    runs = {found.id: found for found in (views.find(context, one) for one in names)}
    options = SurfaceRequest() if asked is None else asked.without_others()
    return _state(_find(context, surfaces.ask(context.engine, list(runs.values()), options)))


@router.get("/surfaces", summary="List requested loss surfaces, newest first")
def list_surfaces(
    context: Reading,
    run: Annotated[str | None, Query(description="Only those through the end of this run.")] = None,
    limit: paging.Limit = paging.USUALLY_LISTED,
    after: paging.After = None,
) -> answers.Page[answered.SurfaceState]:
    conditions = [col(Request.kind) == requests.SURFACE]
    if run is not None:
        conditions.append(col(Request.run_id) == views.find(context, run).id)
    found = rows.page(
        context.engine,
        Request,
        conditions,
        limit=limit,
        after=paging.position(after),
        moment="asked_at",
        without=(Request.result,),
    )
    return paging.answer(found, [_state(one) for one in found.rows])


@router.get("/surfaces/{surface}", summary="Show the progress of a loss surface")
def show(context: Reading, surface: str) -> answered.SurfaceState:
    return _state(_find(context, surface))


@router.get("/surfaces/{surface}/values", summary="Show the losses and paths of a surface")
def values(context: Reading, surface: str) -> answered.SurfaceValues:
    found = _find(context, surface)
    nets: dict[str, Any] = surfaces.values(found)
    return answered.SurfaceValues.model_validate({"id": found.id, **nets})


@router.delete("/surfaces/{surface}", summary="Withdraw a loss surface", status_code=204)
def cancel(context: Writing, surface: str) -> None:
    """One that waits or is being computed; what computes it stops soon."""
    surfaces.withdraw(context.engine, _find(context, surface))


def _find(context: Context, surface: str) -> Request:
    found = requests.find(context.engine, surface)
    if found is None or found.kind != requests.SURFACE:
        raise Refused(404, f"There is no surface {surface[:40]!r}: GET /surfaces lists them.")
    return found


def _state(found: Request) -> answered.SurfaceState:
    return answered.SurfaceState.model_validate(views.request_values(found))
