"""Runs side by side, with the sentences of the page Compare."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from ganboard.db.curves import series
from ganboard.db.errors import NotAllowed
from ganboard.db.runs import evaluations, queries
from ganboard.gan.quality.declared import METRICS
from ganboard.worker.api import answers, views
from ganboard.worker.api.callers import Reading
from ganboard.worker.comparison import ranking, stored
from ganboard.worker.comparison.choices import varying
from ganboard.worker.figures.quality import headline

MAX_COMPARED = 50
router = APIRouter(tags=["results"])


@router.get("/comparison", summary="Compare runs with a baseline")
def compare(
    context: Reading,
    run: Annotated[list[str], Query(min_length=2, max_length=MAX_COMPARED)],
    baseline: Annotated[str | None, Query(description="By default the first run.")] = None,
) -> answers.Comparison:
    """Speed is the median over the finished epochs; quality is compared after the last epoch at
    which both runs were evaluated. The caveats say what makes the comparison unfair."""
    runs = list({found.id: found for found in (views.find(context, one) for one in run)}.values())
    base = runs[0] if baseline is None else views.find(context, baseline)
    if base.id not in {one.id for one in runs}:
        raise NotAllowed(f"The baseline {base.id} is not among the compared runs. Add it to them.")
    if len(runs) < 2:
        raise NotAllowed("A comparison needs two different runs. Name another one.")
    ids, metric = [one.id for one in runs], headline(base.config)
    speeds = series.speeds(context.engine, ids)
    medians = stored.medians(speeds)
    comparable = {one.id for one in stored.comparable(runs, base, metric)}
    evaluated = series.evaluated(context.engine, ids, metric)
    now = queries.database_time(context.engine)
    said = stored.conclusion(runs, base, speeds, evaluated, now)
    best = evaluations.best(context.engine, ids, metric)
    differing = varying([one.config for one in runs])
    return answers.Comparison(
        metric=METRICS[metric].label,
        verdict=said.headline,
        each=said.each,
        caveats=said.remarks,
        runs=[
            answers.ComparedRun(
                id=one.id,
                name=one.name,
                status=one.shown_status,
                baseline=one.id == base.id,
                epochs=one.epoch,
                training_seconds=one.seconds,
                median_epoch_seconds=medians[one.id][0],
                median_images_per_second=medians[one.id][1],
                g_loss=one.g_loss,
                d_loss=one.d_loss,
                best=best.get(one.id) if one.id in comparable else None,
                settings={name: one.config.get(name) for name in differing},
            )
            for one in runs
        ],
    )


@router.get("/rankings", summary="Rank evaluated runs")
def rankings(
    context: Reading,
    metric: Annotated[
        str | None, Query(description="Such as fid; by default the main one of each model.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="Runs of each ranking.")] = 10,
) -> list[answers.Ranking]:
    """One ranking for each model, data set and way of evaluating: numbers of different ones cannot
    be compared. Forks, archived runs and those of scripts are left out."""
    return [
        answers.Ranking(
            model=one.model,
            data=one.data,
            evaluated_by=one.evaluated_by,
            metric=one.metric,
            better=one.better,
            runs=[
                answers.RankedRun(
                    id=ranked.run.id,
                    name=ranked.run.name,
                    value=ranked.value,
                    status=ranked.run.shown_status,
                    epoch=ranked.run.epoch,
                    training_seconds=ranked.run.seconds,
                )
                for ranked in one.runs[:limit]
            ],
        )
        for one in ranking.rankings(context.engine, metric)
    ]
