"""What was recorded of a run: metrics, events, what stands out."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from ganboard.db.curves import stored
from ganboard.db.curves.stored import AXES
from ganboard.db.runs import queries
from ganboard.worker import diagnosis
from ganboard.worker.api import answers, views
from ganboard.worker.api.callers import Reading, Refused
from ganboard.worker.panels.expressions import quoted
from ganboard.worker.panels.metrics import meaning
from ganboard.worker.panels.points import compute, listed

MAX_CURVES = 8
MAX_POINTS = 10_000
router = APIRouter(tags=["results"])


@router.get("/runs/{run}/metrics", summary="List the stored metrics of a run")
def metrics(context: Reading, run: str) -> list[answers.MetricName]:
    found = stored.available(context.engine, [views.find(context, run).id])
    return [
        answers.MetricName(metric=quoted(name), stored=cadence, meaning=meaning(name, cadence))
        for name, cadence in found.items()
    ]


@router.get("/runs/{run}/values", summary="Show values of metrics or expressions")
def values(
    context: Reading,
    run: str,
    metric: Annotated[
        list[str],
        Query(description="Such as `g_loss` or `d_loss / g_loss`.", max_length=MAX_CURVES),
    ],
    over: Annotated[str, Query(description=f"{', '.join(AXES)}, or an expression.")] = "step",
    points: Annotated[
        int | None,
        Query(ge=2, le=MAX_POINTS, description="About so many, the extremes kept; all by default."),
    ] = None,
) -> list[answers.Curve]:
    """Null where there is no finite value."""
    found = views.find(context, run)
    curves = {one: compute(context.engine, found.id, one, over, points=points) for one in metric}
    return [
        answers.Curve(
            metric=one,
            step=curve.steps.tolist(),
            x=listed(curve.x),
            y=listed(curve.y),
            notes=list(curve.notes),
        )
        for one, curve in curves.items()
    ]


@router.get(
    "/runs/{run}/images/{epoch}",
    summary="Download the image grid of an epoch as PNG",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}}},
)
def images(context: Reading, run: str, epoch: int | Literal["latest"]) -> Response:
    """Always of the same latents; epoch 0 is before training, -1 the real images."""
    found = views.find(context, run)
    stored_epochs = queries.grid_epochs(context.engine, found.id)
    wanted = max(stored_epochs, default=None) if epoch == "latest" else epoch
    grid = None if wanted not in stored_epochs else queries.grid(context.engine, found.id, wanted)
    if grid is None:
        raise Refused(404, f"Run {found.id} has no images of epoch {epoch}.")
    return Response(grid.png, media_type="image/png")


@router.get("/runs/{run}/events", summary="Events of a run, newest first")
def events(
    context: Reading, run: str, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[answers.RunEvent]:
    found = queries.events(context.engine, views.find(context, run).id, limit=limit)
    return [answers.RunEvent.model_validate(event) for event in found]


@router.get("/runs/{run}/explanation", summary="Diagnose a run")
def explanation(context: Reading, run: str) -> answers.Explanation:
    """Mode collapse, an overpowering discriminator, plateaus, loss spikes, slow epochs, restarts;
    each with its epochs, the numbers it follows from, and settings for a clone."""
    found = diagnosis.explained(context.engine, views.find(context, run))
    return answers.Explanation.model_validate(diagnosis.document(found))
