"""What is built anew only when something happened to a run."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest
from sqlalchemy import Engine

from ganboard.app.run import cache
from ganboard.db.runs import queries, reports
from ganboard.worker.context import Context
from tests.unit.db.stored_runs import STEPS, finish_epoch, steps, submitted, training


@pytest.fixture
def engine(context: Context) -> Engine:
    return context.engine


class Value:
    """Something whose end can be seen."""


def kept(engine: Engine, version: object, build: Any = Value, run_id: str = "a") -> Any:
    return cache.newest(engine, run_id, "chart", {"scale": "log"}, version, build)


def test_a_version_is_built_once_and_only_the_newest_is_in_memory(engine: Engine) -> None:
    first = kept(engine, 1)
    assert kept(engine, 1) is first
    assert kept(engine, 1, run_id="b") is not first
    ended = weakref.ref(first)
    second = kept(engine, 2)
    assert second is not first
    del first
    gc.collect()
    assert ended() is None
    assert kept(engine, 2) is second


def test_what_cannot_be_built_is_tried_again(engine: Engine) -> None:
    kept(engine, 1)

    def fails() -> None:
        raise OSError

    with pytest.raises(OSError):
        kept(engine, 2, fails)
    assert kept(engine, 2, lambda: "built") == "built"


def test_a_session_that_asks_meanwhile_waits_and_gets_the_same(engine: Engine) -> None:
    asked: list[Future[Any]] = []

    def slow() -> Value:
        asked.append(pool.submit(kept, engine, "same"))
        assert not wait(asked, timeout=0.2).done
        return Value()

    with ThreadPoolExecutor(1) as pool:
        first = kept(engine, "same", slow)
        assert asked[0].result(60) is first


def test_steps_change_one_kind_and_epochs_both(engine: Engine) -> None:
    submitted(engine)
    own = training(engine)

    def both() -> tuple[Any, Any]:
        run = queries.get_run(engine, own["run_id"])
        assert run is not None
        return (
            cache.by_step(engine, run, "losses", (), Value),
            cache.by_epoch(engine, run, "timings", (), Value),
        )

    before = both()
    assert both() == before
    steps(engine, own, 1, 0, [1.0] * STEPS)
    after = both()
    assert after[0] is not before[0]
    assert after[1] is before[1]
    finish_epoch(engine, own, 1)
    assert all(new is not old for new, old in zip(both(), after, strict=True))
    reports.add_event(engine, **own, level="info", text="Something happened.")
    assert both()[1] is not after[1]
