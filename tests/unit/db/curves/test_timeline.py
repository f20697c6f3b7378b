"""When steps were taken: training seconds without gaps, the clock with its pauses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, update
from sqlmodel import col

from ganboard.db.curves import series, timeline
from ganboard.db.curves.timeline import Timeline
from ganboard.db.engine import writing
from ganboard.db.models import Epoch, Event, Run
from ganboard.db.runs import commands, reports
from tests.unit.db.stored_runs import STEPS, finish_epoch, start, steps, submitted, training

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def set_times(engine: Engine, run_id: str, started: float, ends: list[float]) -> None:
    """Give the run and its epochs times, in seconds after noon."""
    with writing(engine) as session:
        session.execute(
            update(Run)
            .where(col(Run.id) == run_id)
            .values(started_at=at(started), phase_since=at(started))
        )
        for epoch, end in enumerate(ends, 1):
            session.execute(
                update(Epoch)
                .where(col(Epoch.run_id) == run_id, col(Epoch.epoch) == epoch)
                .values(finished_at=at(end))
            )


def clock(frame: Any) -> list[float]:
    return ((frame["time"] - np.datetime64("2026-01-01T12:00")) / np.timedelta64(1, "s")).tolist()


def resumed(engine: Engine) -> dict[str, Any]:
    """Two epochs of 2 s, an hour's pause, a third of 4 s, half of a fourth."""
    own = training(engine)
    for epoch in (1, 2):
        steps(engine, own, epoch, 0, [1.0] * STEPS)
        finish_epoch(engine, own, epoch, seconds=2.0)
    commands.finish(engine, **own, status="suspended")
    again = training(engine, own["run_id"], start_step=2 * STEPS)
    steps(engine, again, 3, 0, [1.0] * STEPS)
    finish_epoch(engine, again, 3, seconds=4.0)
    steps(engine, again, 4, 0, [1.0] * 2)
    set_times(engine, own["run_id"], 0, [10, 12, 3612])
    return again


def test_a_resumed_run_has_training_seconds_without_gaps(engine: Engine) -> None:
    own = resumed(engine)
    frame = series.step_losses(engine, own["run_id"])
    assert frame["training_seconds"].tolist() == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 10]
    assert clock(frame) == [8.5, 9, 9.5, 10, 10.5, 11, 11.5, 12, 3609, 3610, 3611, 3612, 3613, 3614]


def test_events_find_their_place(engine: Engine) -> None:
    own = resumed(engine)
    with writing(engine) as session:
        session.execute(update(Event).values(at=at(0)))
    for second, text in (
        (11.25, "a"),
        (13, "after the pause began"),
        (3610.5, "c"),
        (3613.5, "d"),
        (99_999, "later than all"),
    ):
        reports.add_event(engine, **own, level="warning", text=text)
        with writing(engine) as session:
            session.execute(update(Event).where(col(Event.text) == text).values(at=at(second)))
    frame = series.events_frame(engine, own["run_id"])
    assert set(frame["text"][frame["step"] == 0]) == {
        "Attempt 1 started on w-1.", "Suspended: the worker is shutting down.",
        "Attempt 2 started on w-1.", "Resumed after epoch 2, step 0 of the next.",
    }  # fmt: skip
    marked = frame[frame["level"] == "warning"]
    assert marked["step"].tolist() == [6.5, 8, 10.5, 13.5, 14]
    assert marked["epoch"].tolist() == [1.625, 2, 2.625, 3.375, 3.5]
    assert marked["training_seconds"].tolist() == [3.25, 4, 6.5, 9.5, 10]
    assert clock(marked) == [11.25, 13, 3610.5, 3613.5, 99_999]
    assert len(series.events_frame(engine, own["run_id"], limit=2)) == 2


def test_before_the_first_epoch_ends_the_newest_speed_counts(engine: Engine) -> None:
    own = training(engine)
    assert series.step_losses(engine, own["run_id"]).empty
    losses = np.ones(2, np.float32)
    reports.append_steps(engine, **own, epoch=1, first=0, g_losses=losses, d_losses=losses)
    set_times(engine, own["run_id"], 5, [])
    # no speed was measured yet
    assert series.step_losses(engine, own["run_id"])["training_seconds"].tolist() == [0, 0]
    reports.append_steps(
        engine, **own, epoch=1, first=0, g_losses=losses, d_losses=losses, images_per_second=32.0
    )
    frame = series.step_losses(engine, own["run_id"])
    assert frame["training_seconds"].tolist() == [2, 4]  # 64 images at 32 a second
    assert clock(frame) == [7, 9]


def test_without_a_trainer_there_is_no_timeline(engine: Engine) -> None:
    run_id = submitted(engine)
    assert timeline.of_run(engine, run_id) is None
    assert timeline.of_run(engine, "nothing") is None
    assert series.events_frame(engine, run_id).empty
    assert set(series.AXES) <= set(series.events_frame(engine, run_id).columns)


def test_an_epoch_that_is_trained_again_does_not_turn_time_back(engine: Engine) -> None:
    own = training(engine)
    for epoch in (1, 2, 3):
        steps(engine, own, epoch, 0, [1.0] * STEPS)
        finish_epoch(engine, own, epoch)
    # attempt 2 has done the second one again, not yet the third
    set_times(engine, own["run_id"], 0, [10, 500, 14])
    start(engine, own, STEPS)
    frame = series.step_losses(engine, own["run_id"])
    assert frame["time"].is_monotonic_increasing
    assert frame["training_seconds"].is_monotonic_increasing


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1000)), max_size=6),
    st.integers(1, 7),
    st.floats(0, 10),
)
def test_times_grow_and_steps_are_found_again(
    epochs: list[tuple[float, float]], per_epoch: int, next_takes: float
) -> None:
    seconds, pauses = [one for one, _ in epochs], [pause for _, pause in epochs]
    ends = np.cumsum([*(np.array(seconds) + np.array(pauses)), next_takes])
    begins = ends - [*seconds, next_takes]
    times = Timeline(
        per_epoch,
        per_epoch * len(ends),
        np.concatenate([[0], np.cumsum([*seconds, next_takes])]),
        begins,
        ends,
    )
    at = np.arange(1, per_epoch * len(ends) + 1, dtype=float)
    columns = times.columns(at)
    assert (np.diff(columns["training_seconds"]) >= 0).all()
    assert (np.diff(columns["time"].astype(float)) >= 0).all()
    assert columns["training_seconds"][-1] == pytest.approx(times.passed[-1])
    middle = (begins + ends) / 2
    long = ends - begins > 1e-3
    assert times.step_at(middle)[long] == pytest.approx(
        ((np.arange(len(ends)) + 0.5) * per_epoch)[long], rel=1e-3
    )
