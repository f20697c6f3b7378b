"""What the page of one run asks of the database beside its charts."""

from __future__ import annotations

from sqlalchemy import Engine

from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import commands, queries, reports
from tests.unit.db.stored_runs import STEPS, finish_epoch, quality, steps, submitted, training


def test_the_newest_run_is_the_one_that_latest_finds(engine: Engine) -> None:
    assert queries.newest_run_id(engine) is None
    earlier = submitted(engine)
    newest = submitted(engine)
    assert queries.newest_run_id(engine) == newest == queries.find_run(engine, "latest").id
    commands.request_stop(engine, run_id=newest)
    run_annotations.archive(engine, run_ids=[newest])
    assert queries.newest_run_id(engine) == earlier == queries.find_run(engine, "latest").id


def test_real_images_are_no_epoch(engine: Engine) -> None:
    own = training(engine)
    for epoch in (2, -1, 0):
        reports.add_grid(engine, **own, epoch=epoch, rows=1, columns=1, png=b"x")
    assert queries.grid_attempts(engine, own["run_id"]) == {-1: 1, 0: 1, 2: 1}
    assert queries.grid_epochs(engine, own["run_id"]) == [0, 2]
    real = queries.grid(engine, own["run_id"], -1)
    assert real is not None
    assert real.png == b"x"


def test_events_of_some_levels(engine: Engine) -> None:
    own = training(engine)
    for level in ("warning", "info", "error"):
        reports.add_event(engine, **own, level=level, text=level)
    assert [
        event.text for event in queries.events(engine, own["run_id"], levels=("warning", "error"))
    ] == ["error", "warning"]
    assert len(queries.events(engine, own["run_id"], levels=("error",), limit=5)) == 1


def test_charts_have_a_version_that_new_steps_leave_alone(engine: Engine) -> None:
    assert queries.chart_version(engine, "nothing") == ()
    own = training(engine)
    seen = [queries.chart_version(engine, own["run_id"])]
    steps(engine, own, 1, 0, [1.0] * STEPS)
    assert queries.chart_version(engine, own["run_id"]) == seen[0]
    finish_epoch(engine, own, 1)
    seen.append(queries.chart_version(engine, own["run_id"]))
    quality(engine, own, 1)
    seen.append(queries.chart_version(engine, own["run_id"]))
    reports.add_event(engine, **own, level="info", text="news")
    seen.append(queries.chart_version(engine, own["run_id"]))
    assert len(set(seen)) == 4
