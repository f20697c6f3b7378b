"""Requests for loss surfaces: who gets them, when, and what becomes of those whose surveyor died."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import Engine, update

from ganboard.db import surfaces
from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import Surface
from ganboard.db.runs import commands
from tests.unit.db.stored_runs import in_status, submitted

OPTIONS = {"plane": "principal", "size": 21}


@pytest.fixture
def run(engine: Engine) -> str:
    return in_status(engine, "finished")


def age(engine: Engine, seconds: int) -> None:
    """As if the last sign of life were so old."""
    with writing(engine) as session:
        session.execute(update(Surface).values(beat_at=now(-seconds)))


def test_one_surveyor_gets_it_and_answers(engine: Engine, run: str) -> None:
    asked = surfaces.ask(engine, [run], OPTIONS)
    assert surfaces.ask(engine, [run], OPTIONS) == asked  # it waits already
    assert surfaces.waiting(engine)
    ours = surfaces.claim(engine)
    assert ours is not None
    assert (ours.id, ours.tries) == (asked, 1)
    assert surfaces.claim(engine) is None
    assert surfaces.say(engine, ours, "computing", 0.5)
    found = surfaces.find(engine, asked)
    assert found is not None
    assert (found.phase, found.done, found.answered_at) == ("computing", 0.5, None)
    arrays = {"g.surface": np.array([[1.5, np.nan]], np.float32), "g.path": np.zeros((2, 6))}
    assert surfaces.answer(engine, ours, arrays=arrays, facts={"seconds": 3.0})
    [answered] = surfaces.of_runs(engine, [run], OPTIONS)
    assert (answered.done, answered.facts, answered.error) == (1.0, {"seconds": 3.0}, None)
    back = surfaces.unpack(answered)
    assert all(np.array_equal(back[name], arrays[name], equal_nan=True) for name in arrays)
    assert not surfaces.say(engine, ours, "computing", 0.9)
    assert surfaces.ask(engine, [run], OPTIONS) != asked  # asked anew


def test_it_waits_until_all_its_runs_have_ended(engine: Engine, run: str) -> None:
    other = submitted(engine)
    asked = surfaces.ask(engine, [run, other], OPTIONS)
    assert not surfaces.waiting(engine)
    assert surfaces.claim(engine) is None
    commands.request_stop(engine, run_id=other)
    claimed = surfaces.claim(engine)
    assert claimed is not None
    assert (claimed.id, claimed.others) == (asked, [other])


def test_one_by_its_id_need_not_wait(engine: Engine) -> None:
    asked = surfaces.ask(engine, [submitted(engine)], OPTIONS)
    assert surfaces.claim(engine) is None
    assert surfaces.claim(engine, asked) is not None


def test_that_of_a_dead_surveyor_is_taken_over(engine: Engine, run: str) -> None:
    surfaces.ask(engine, [run], OPTIONS)
    first = surfaces.claim(engine)
    assert first is not None
    age(engine, 20)
    assert surfaces.claim(engine) is None
    age(engine, 40)
    second = surfaces.claim(engine)
    assert second is not None
    assert second.tries == 2
    assert not surfaces.answer(engine, first, error="too late")
    assert surfaces.answer(engine, second, error="No memory is left.")
    [found] = surfaces.of_runs(engine, [run])
    assert found.error == "No memory is left."


def test_one_given_back_counts_as_never_tried(engine: Engine, run: str) -> None:
    surfaces.ask(engine, [run], OPTIONS)
    ours = surfaces.claim(engine)
    assert ours is not None
    surfaces.release(engine, ours)
    again = surfaces.claim(engine)
    assert again is not None
    assert again.tries == 1


def test_it_is_found_by_its_runs_and_options_and_goes_with_the_first(
    engine: Engine, run: str
) -> None:
    other = in_status(engine, "stopped")
    asked = surfaces.ask(engine, [run, other], OPTIONS)
    assert [one.id for one in surfaces.of_runs(engine, [run, other], OPTIONS)] == [asked]
    assert surfaces.of_runs(engine, [run], OPTIONS) == []
    assert surfaces.of_runs(engine, [other, run], OPTIONS) == []
    assert surfaces.of_runs(engine, [run, other], {**OPTIONS, "size": 5}) == []
    commands.delete_run(engine, run_id=other)
    assert surfaces.find(engine, asked) is not None
    commands.delete_run(engine, run_id=run)
    assert surfaces.find(engine, asked) is None


def test_a_prediction_waits_for_no_run_to_end(engine: Engine) -> None:
    running = submitted(engine)
    asked = surfaces.ask(engine, [running], {surfaces.PREDICTION: {"steps": 3}})
    surfaces.ask(engine, [running], OPTIONS)
    claimed = surfaces.claim(engine)
    assert claimed is not None
    assert claimed.id == asked
    assert [one.id for one in surfaces.predictions(engine, running)] == [asked]
    assert surfaces.claim(engine) is None  # the surface waits


def test_what_cannot_be_asked_is_refused(engine: Engine, run: str) -> None:
    with pytest.raises(UnknownRun, match=r"^There is no run 'nobody': it was deleted.$"):
        surfaces.ask(engine, [run, "nobody"], OPTIONS)
    with pytest.raises(NotAllowed, match=r"^9 runs do not fit on one surface: choose 1 to 8.$"):
        surfaces.ask(engine, [run] * 9, OPTIONS)
    with pytest.raises(NotAllowed, match=r"^0 runs"):
        surfaces.ask(engine, [], OPTIONS)
    for size in range(surfaces.MAX_WAITING):
        surfaces.ask(engine, [run], {**OPTIONS, "size": size})
    with pytest.raises(
        NotAllowed,
        match=r"^20 surfaces and predictions are waiting already: try again when some are done.$",
    ):
        surfaces.ask(engine, [run], OPTIONS)
