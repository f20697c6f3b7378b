"""Requests to stored generators: each is answered once, by whoever claimed it, or by the next one."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from ganboard.db import clock, drawings
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import Drawing
from ganboard.db.runs import commands, queries, reports
from tests.unit.db.stored_runs import IN_FORK, in_status, submitted, training


def ask(engine: Engine, run_id: str, **more: Any) -> str:
    return drawings.ask(
        engine, **{"run_id": run_id, "step": 4, "kind": "draw", "options": {"seed": 1}, **more}
    )


def found(engine: Engine, drawing_id: str) -> drawings.Asked:
    asked = drawings.find(engine, drawing_id)
    assert asked is not None
    return asked


def claimed(engine: Engine) -> Drawing:
    drawing = drawings.claim(engine)
    assert drawing is not None
    return drawing


def shift(engine: Engine, drawing_id: str, **columns: float) -> None:
    """Move moments of a row so many seconds into the past."""
    with writing(engine) as session:
        values = {name: clock.now(-seconds) for name, seconds in columns.items()}
        session.execute(update(Drawing).where(col(Drawing.id) == drawing_id).values(values))


def test_a_request_is_asked_claimed_and_answered(engine: Engine) -> None:
    drawing_id = ask(engine, submitted(engine))
    waiting = found(engine, drawing_id)
    assert (waiting.answered, waiting.drawing.begun_at, waiting.drawing.options) == (
        False,
        None,
        {"seed": 1},
    )
    assert 0 <= waiting.seconds < 30
    drawing = claimed(engine)
    assert (drawing.id, drawing.facts) == (drawing_id, {"tries": 1})
    assert drawings.claim(engine) is None
    drawings.say(engine, drawing, "warming")
    assert found(engine, drawing_id).drawing.facts == {"tries": 1, "phase": "warming"}
    assert drawings.answer(engine, drawing, png=b"png", facts={"columns": 4})
    done = found(engine, drawing_id)
    assert (done.answered, done.drawing.png, done.drawing.facts, done.drawing.error) == (
        True,
        b"png",
        {"columns": 4},
        None,
    )
    assert done.seconds == found(engine, drawing_id).seconds  # what it took no longer grows
    assert not drawings.answer(engine, drawing, error="again")
    assert found(engine, drawing_id).drawing.error is None


def test_the_first_asked_is_the_first_claimed(engine: Engine) -> None:
    run_id = submitted(engine)
    asked = [ask(engine, run_id) for _ in range(3)]
    for ago, drawing_id in zip((3.0, 2.0, 1.0), asked, strict=True):
        shift(engine, drawing_id, asked_at=ago)
    assert [claimed(engine).id for _ in asked] == asked


def _claim(url: str, start: float) -> list[str]:
    from ganboard.db.engine import make_engine

    own = make_engine(url)
    time.sleep(max(0.0, start - time.monotonic()))
    taken: list[str] = []
    misses = 0
    while misses < 3:
        drawing = drawings.claim(own)
        misses = misses + 1 if drawing is None else 0
        taken += [drawing.id] if drawing else []
    own.dispose()
    return taken


def test_painters_at_once_never_get_the_same(engine: Engine, url: str) -> None:
    run_id = submitted(engine)
    asked = {ask(engine, run_id) for _ in range(12)}
    with IN_FORK.Pool(3) as pool:
        taken = [
            one
            for part in pool.starmap(_claim, [(url, time.monotonic() + 0.2)] * 3, chunksize=1)
            for one in part
        ]
    assert sorted(taken) == sorted(set(taken))
    assert set(taken) <= asked
    while drawing := drawings.claim(engine):  # what all of them lost to another in the same moment
        taken.append(drawing.id)
    assert set(taken) == asked


def test_a_claim_whose_painter_died_is_taken_again(engine: Engine) -> None:
    drawing_id = ask(engine, submitted(engine))
    first = claimed(engine)
    shift(engine, drawing_id, begun_at=drawings.ABANDONED_SECONDS - 5)
    assert drawings.claim(engine) is None
    shift(engine, drawing_id, begun_at=drawings.ABANDONED_SECONDS + 1)
    second = claimed(engine)
    assert second.facts == {"tries": 2}
    # it lives after all, but the request is another's now
    assert not drawings.answer(engine, first, png=b"late")
    assert drawings.answer(engine, second, png=b"png")
    assert found(engine, drawing_id).drawing.png == b"png"


def test_a_released_claim_counts_as_never_tried(engine: Engine) -> None:
    ask(engine, submitted(engine))
    drawings.release(engine, claimed(engine))
    assert claimed(engine).facts == {"tries": 1}


def test_a_new_request_withdraws_the_one_before_unless_it_is_worked_on(engine: Engine) -> None:
    run_id = submitted(engine)
    first = ask(engine, run_id)
    second = ask(engine, run_id, instead_of=first)
    assert drawings.find(engine, first) is None
    assert claimed(engine).id == second
    ask(engine, run_id, instead_of=second)
    assert drawings.find(engine, second) is not None


def test_too_many_waiting_requests_are_refused(engine: Engine) -> None:
    run_id = submitted(engine)
    with writing(engine) as session:
        session.add_all(
            Drawing(run_id=run_id, step=1, kind="draw") for _ in range(drawings.MAX_WAITING)
        )
    with pytest.raises(NotAllowed, match=r"^100 drawings are waiting already"):
        ask(engine, run_id)
    drawings.answer(engine, claimed(engine), error="no")
    ask(engine, run_id)


def test_what_is_an_hour_old_is_forgotten(engine: Engine) -> None:
    run_id = submitted(engine)
    old, young = ask(engine, run_id), ask(engine, run_id)
    shift(engine, old, asked_at=drawings.KEPT_SECONDS + 1)
    shift(engine, young, asked_at=drawings.KEPT_SECONDS - 60)
    drawings.prune(engine)
    assert drawings.find(engine, old) is None
    assert drawings.find(engine, young) is not None


def test_a_deleted_run_takes_its_drawings_along(engine: Engine) -> None:
    run_id = in_status(engine, "finished")
    drawing_id = ask(engine, run_id)
    drawing = claimed(engine)
    commands.delete_run(engine, run_id=run_id)
    assert drawings.find(engine, drawing_id) is None
    assert not drawings.answer(engine, drawing, png=b"png")
    with pytest.raises(UnknownRun, match="was deleted"):
        ask(engine, run_id)


def test_runs_with_a_checkpoint_are_offered_the_newest_first(engine: Engine) -> None:
    submitted(engine, "without")
    kept = []
    for name in ("first", "second", "third"):
        own = training(engine, submitted(engine, name))
        reports.add_checkpoint(engine, **own, step=4, epoch=1, digest="0", size=1, keep=1)
        commands.finish(engine, **own, status="finished")
        kept.append(own["run_id"])
    with writing(engine) as session:
        run = session.get(queries.Run, kept[1])
        assert run is not None
        run.archived_at = run.created_at
    assert [run.id for run in drawings.drawable_runs(engine, limit=9)] == [kept[2], kept[0]]
    assert [run.id for run in drawings.drawable_runs(engine, limit=1)] == [kept[2]]


def test_painters_are_no_workers(engine: Engine) -> None:
    commands.beat(engine, name="box:1", host="box", pid=1, run_id=None)
    commands.beat(
        engine,
        name=f"box{queries.PAINTER}7",
        host="box",
        pid=7,
        run_id=None,
        devices={"warm": False},
    )
    assert [state.worker.name for state in queries.workers(engine)] == ["box:1"]
    [painter] = queries.painters(engine)
    assert painter.alive
    assert painter.worker.devices == {"warm": False}
