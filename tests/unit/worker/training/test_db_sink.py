"""The database sink: every event becomes rows under one attempt's fence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType

import numpy as np
import pytest

from ganboard.db import engine
from ganboard.db.errors import LeaseLost
from ganboard.db.runs import commands, expiry, queries
from ganboard.gan.events import (
    SERIES,
    EpochDone,
    Facts,
    Found,
    Grid,
    Note,
    OnDisk,
    Phase,
    PhaseProgress,
    Quality,
    Saved,
    Started,
    Steps,
)
from ganboard.gan.presets import load
from ganboard.gan.quality.declared import METRICS
from ganboard.worker.context import Context
from ganboard.worker.training import db_sink
from ganboard.worker.training.db_sink import DbSink, Sinks
from ganboard.worker.training.retry import DatabaseUnavailable
from tests.polling import wait_until


@pytest.fixture
def claimed(context: Context) -> str:
    run = commands.create_run(context.engine, name="x", config=load("tiny").model_dump(mode="json"))
    assert commands.claim(context.engine, run_id=run.id, worker="w")
    return run.id


def emit_an_epoch(sink: DbSink) -> None:
    sink(Phase("importing"))
    sink(
        Started(
            hardware={"host": "here"},
            examples=128,
            steps_per_epoch=4,
            start_step=0,
            g_parameters=5,
            d_parameters=6,
        )
    )
    sink(Grid(epoch=0, png=b"zero", rows=1, columns=1))
    sink(Phase("training"))
    rates = {name: np.float32([1, 2]) for name in SERIES}
    sink(
        Steps(
            epoch=1, first=0, g_losses=np.float32([1, 2]), d_losses=np.float32([3, 4]), series=rates
        )
    )
    sink(
        Steps(epoch=1, first=2, g_losses=np.float32([5, np.nan]), d_losses=np.float32([6, np.inf]))
    )
    sink(
        EpochDone(
            1,
            float("nan"),
            float("inf"),
            2.0,
            1.0,
            128,
            (1.0, 2.0),
            (3.0, 4.0),
            {"step_max": 0.5, "gflops": float("nan")},
        )
    )
    sink(
        Quality(
            epoch=1,
            seconds=0.5,
            training_seconds=2.0,
            measures=dict.fromkeys(METRICS, 0.25),
            histogram=(0.5, 0.5),
        )
    )
    sink(Facts({"form": "plain"}))
    sink(Facts(MappingProxyType({"largest_batch": 512})))
    sink(Saved(step=4, epoch=1, digest="ab", size=10))
    sink(Note("warning", "look here"))


def test_how_far_a_phase_is_holds_until_the_next(context: Context, claimed: str) -> None:
    def shown() -> str | None:
        run = queries.get_run(context.engine, claimed)
        assert run is not None
        return run.phase_progress

    with DbSink(context.engine, claimed, 1, load("tiny")) as sink:
        sink(Phase("loading"))
        sink(PhaseProgress(0.4, "decoding", 120.0))
        sink.flush()
        assert shown() == "decoding 40 %, 2 min left"
        sink(Phase("compiling"))
        sink.flush()
        assert shown() is None


def test_every_event_is_stored(context: Context, claimed: str) -> None:
    with DbSink(context.engine, claimed, 1, load("tiny")) as sink:
        emit_an_epoch(sink)
    run = queries.get_run(context.engine, claimed)
    assert run is not None
    assert (run.status, run.phase, run.epoch, run.step, run.images_per_second) == (
        "running",
        "training",
        1,
        4,
        64.0,
    )
    [epoch] = queries.epochs(context.engine, claimed)
    assert (epoch.steps, epoch.images, str(epoch.g_loss), str(epoch.d_loss)) == (
        4,
        128,
        "nan",
        "inf",
    )
    assert epoch.measures == {"step_max": 0.5}
    [quality] = queries.qualities(context.engine, claimed)
    assert quality.measures == dict.fromkeys(METRICS, 0.25)
    assert (quality.training_seconds, quality.histogram.tolist(), run.facts) == (
        2.0,
        [0.5, 0.5],
        {"form": "plain", "largest_batch": 512},
    )
    rates = queries.step_series(context.engine, claimed, 1)
    assert {name: values.tolist() for name, values in rates.items()} == {
        name: [1.0, 2.0] for name in SERIES
    }
    assert queries.grid_epochs(context.engine, claimed) == [0]
    assert [c.step for c in queries.checkpoints(context.engine, claimed)] == [4]
    assert queries.events(context.engine, claimed)[0].text == "look here"


def test_an_old_attempt_writes_nothing(context: Context, claimed: str) -> None:
    def of_the_dead() -> None:
        with DbSink(context.engine, claimed, 1, load("tiny")) as sink:
            expiry.died(context.engine, run_id=claimed, attempt=1, cause="test")
            assert commands.claim(context.engine, run_id=claimed, worker="other")
            sink(Note("info", "from the grave"))

    with pytest.raises(LeaseLost):
        of_the_dead()
    assert all(event.text != "from the grave" for event in queries.events(context.engine, claimed))


def test_the_next_event_and_the_barrier_raise_what_was_refused(
    context: Context, claimed: str
) -> None:
    sink = DbSink(context.engine, claimed, 1, load("tiny"))
    expiry.died(context.engine, run_id=claimed, attempt=1, cause="test")
    sink(Note("info", "from the grave"))
    for again in (lambda: sink(Phase("saving")), sink.flush, lambda: sink(Note("info", "again"))):
        with pytest.raises(LeaseLost):
            again()


@contextmanager
def locked(context: Context) -> Iterator[None]:
    """Nobody else can write; SQLite says so after a moment instead of ten seconds."""
    with (
        context.engine.connect() as reader,
        context.engine.execution_options(sqlite_lock="EXCLUSIVE").begin(),
    ):
        reader.exec_driver_sql("SELECT 1")
        yield


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, context: Context) -> None:
    monkeypatch.setattr(engine, "BUSY_MILLISECONDS", 20)
    monkeypatch.setattr(db_sink, "REPORT_SECONDS", 0.0)
    context.engine.dispose()  # the next connections have the new patience


@pytest.mark.usefixtures("impatient")
def test_training_goes_on_while_the_database_is_away_up_to_the_barrier(
    context: Context, claimed: str
) -> None:
    with DbSink(context.engine, claimed, 1, load("tiny")) as sink:
        with locked(context):
            emit_an_epoch(sink)  # returns at once
            waiting = threading.Thread(target=sink, args=(Phase("saving"),))
            waiting.start()
            wait_until(lambda: sink._away, seconds=10, what="the loss of the database")
            assert waiting.is_alive()
            assert queries.epochs(context.engine, claimed) == []
        waiting.join(10)
        assert not waiting.is_alive()
        assert [epoch.epoch for epoch in queries.epochs(context.engine, claimed)] == [1]
    assert any(
        "The database was unavailable for" in event.text
        for event in queries.events(context.engine, claimed)
    )


@pytest.mark.usefixtures("impatient")
def test_a_process_that_has_to_end_does_not_wait_for_the_database(
    context: Context, claimed: str
) -> None:
    leaving = threading.Event()
    sink = DbSink(context.engine, claimed, 1, load("tiny"), leaving.is_set)
    with locked(context):
        sink(Note("info", "late"))
        wait_until(lambda: sink._away, seconds=10, what="the loss of the database")
        leaving.set()
        with pytest.raises(DatabaseUnavailable):
            sink(Phase("saving"))
    wait_until(lambda: not sink._away, seconds=30, what="the database's return")
    sink.flush()  # a stop that was asked for does not cut short what only takes its time
    assert "late" in [event.text for event in queries.events(context.engine, claimed)]


def test_those_on_disk_are_listed_and_no_others(context: Context, claimed: str) -> None:
    with DbSink(context.engine, claimed, 1, load("tiny")) as sink:
        for step in (1, 2):
            sink(Saved(step=step, epoch=0, digest="ab", size=10))
        sink(OnDisk((Found(2, 1, 0, "ab", 10), Found(1, 0, 0, "cd", 11))))
    listed = [
        (c.step, c.attempt, c.digest, c.size) for c in queries.checkpoints(context.engine, claimed)
    ]
    assert listed == [(1, 0, "cd", 11), (2, 1, "ab", 10)]


def test_both_sinks_hear_everything_in_order() -> None:
    heard: list[tuple[str, object]] = []
    both = Sinks(lambda event: heard.append(("a", event)), lambda event: heard.append(("b", event)))
    both(Phase("saving"))
    assert heard == [("a", Phase("saving")), ("b", Phase("saving"))]
