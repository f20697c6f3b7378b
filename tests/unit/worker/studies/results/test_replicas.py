"""Scaling over replicas, measured and forecast."""

from __future__ import annotations

import pytest
from sqlalchemy import update
from sqlmodel import col

from ganboard.db.engine import writing
from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.unit.worker.studies.results.study_runs import IMAGES, MakeRun, made, study_run


def test_scaling_stands_beside_the_published_points(context: Context, make_run: MakeRun) -> None:
    for replicas, seconds in ((1, 10.0), (2, 7.5), (4, 6.25)):  # Amdahl's law with a serial half
        study_run(make_run, 64, seconds, replicas=replicas)
    found = made(context, "scaling")
    assert "1.33 on 2, 1.60 on 4. Serial share 50 %: at most 2 times as fast" in found.finding
    assert "fit 43 %" in found.finding
    table = found.table.set_index(["source", "replicas"])
    assert table.loc[("here", 4), ["efficiency", "karp_flatt"]].tolist() == pytest.approx(
        [0.4, 0.5]
    )
    assert len(table) == 3 + 4 + 7


def test_replicas_without_an_accelerator_each_are_said_to_share(
    context: Context, make_run: MakeRun
) -> None:
    runs = [study_run(make_run, 64, 10.0, replicas=replicas) for replicas in (1, 2)]
    for name in ("scaling", "approaches", "fig13"):
        assert "The replicas shared the processors of one machine" in made(context, name).finding
    for run in runs:
        with writing(context.engine) as session:
            gpus = {"gpus": [{"name": "Test GPU"}] * 2}
            session.execute(
                update(Run)
                .where(col(Run.id) == run.id)
                .values({"hardware": {**run.hardware, **gpus}})
            )  # type: ignore[dict-item]
    for name in ("scaling", "approaches", "fig13"):
        assert "shared" not in made(context, name).finding


def test_a_forecast_says_that_it_is_one_and_how_far_it_was_off(
    context: Context, make_run: MakeRun
) -> None:
    for batch in (32, 64):
        study_run(make_run, batch, IMAGES * (0.001 + 0.01 / batch))
        study_run(make_run, batch, IMAGES * 0.1, d_steps=2)  # other runs, which must not join
    study_run(make_run, 64, 0.6 * IMAGES * (0.001 + 0.01 / 64), replicas=2)
    found = made(context, "forecast")
    assert "A FORECAST, not a measurement." in found.how
    assert "the error of the forecast is at most" in found.finding
    assert found.table["replicas"].tolist() == [1, 2, 4, 8, 16, 32]
    assert found.table["milliseconds"][1] < found.table["milliseconds"][0]
    assert found.table["waiting"].is_monotonic_increasing
    assert found.table["milliseconds"][0] >= 64 * 1000 * (0.001 + 0.01 / 64) * 0.99
