"""How long a run would take, from what others took."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import StatementError

from ganboard.db.models import Run
from ganboard.db.placement import backlog
from ganboard.db.runs import commands, past_runs, queries
from ganboard.db.runs.runtime_estimation import Estimate, History, Measured, begins, time_left
from ganboard.db.runs.time_per_image import SLACK, fit
from tests.unit.db.stored_runs import STEPS, finish_epoch, submitted, training

OF_SPEED = {"precision": "float32", "xla": False, "loop": "custom", "recompute": False}


def ran(
    seconds: float, *, host: str = "box", beside: float | None = None, **config: Any
) -> Measured:
    """A run of 1000 images at `seconds` each."""
    return Measured(
        {"batch_size": 64, "precision": "float32", "xla": False, **config},
        host,
        1000 * seconds,
        1000,
        beside,
    )


def asked(*runs: Measured, host: str | None = None, **config: Any) -> Estimate | None:
    return History(runs, OF_SPEED).estimate(
        {"batch_size": 64, "precision": "float32", "xla": False, **config}, host
    )


def known(*runs: Measured, host: str | None = None, **config: Any) -> Estimate:
    found = asked(*runs, host=host, **config)
    assert found is not None
    return found


def test_nothing_is_known_of_nothing() -> None:
    assert asked() is None
    assert (
        asked(
            Measured({"batch_size": 64}, "box", 0.0, 0, None),
            Measured({"batch_size": 64}, "box", 5.0, 0, None),
        )
        is None
    )


def test_runs_with_the_same_settings_of_speed_are_the_answer() -> None:
    found = known(ran(0.01, seed=3), ran(0.012, epochs=7), ran(0.011), ran(0.5, xla=True))
    assert (found.likely, found.low, found.high) == (0.011, 0.01, 0.012)
    assert found.basis == "measured on 3 runs with the same performance settings, on box"
    assert not found.certain
    assert known(ran(0.01)).certain


def test_runs_older_than_a_setting_of_speed_have_trained_with_its_default() -> None:
    assert known(ran(0.01), recompute=False).basis.startswith("measured on 1 run")
    assert asked(ran(0.01), recompute=True) is None


def test_only_the_newest_count() -> None:
    assert known(*[ran(0.01)] * 5, *[ran(0.9)] * 20).high == 0.01


def test_another_machine_says_nothing() -> None:
    assert asked(ran(0.01), host="elsewhere") is None
    # without a host that of the newest run
    assert known(ran(0.01, host="new"), ran(0.05, host="old")).likely == 0.01
    assert known(ran(0.01, host="new"), ran(0.05, host="old"), host="old").likely == 0.05


@pytest.mark.parametrize("batch", [32, 64, 128, 512, 2048])
def test_a_line_through_two_batches_is_recovered(batch: int) -> None:
    b, a = 0.002, 0.1

    def seconds(size: int) -> float:
        return b + a / size

    found = known(
        ran(seconds(64), batch_size=64), ran(seconds(512), batch_size=512), batch_size=batch
    )
    assert found.likely == pytest.approx(seconds(batch))
    assert found.low <= seconds(batch) <= found.high
    assert ("with batch 64 and 512" in found.basis) == (batch not in (64, 512))


def test_beyond_the_measured_batches_the_range_is_wider() -> None:
    runs = [ran(0.004, batch_size=32), ran(0.003, batch_size=64)]
    near, far = known(*runs, batch_size=48), known(*runs, batch_size=512)
    assert far.high / far.low > near.high / near.low
    assert far.low < far.likely < 0.003 <= far.high


def test_a_fit_has_no_negative_part() -> None:
    assert fit([(64, 0.01), (128, 0.02)])[1] == 0.0  # slower per image in larger batches: constant
    b, a = fit([(64, 0.1), (128, 0.02)])  # faster than any overhead explains: all overhead
    assert b == 0.0
    assert a > 0
    assert fit([(32, 0.004), (64, 0.003), (128, 0.0025)]) == pytest.approx((0.002, 0.064))


def test_a_ratio_measured_elsewhere_is_carried_over() -> None:
    pair = [ran(0.010, batch_size=64), ran(0.006, batch_size=64, precision="mixed_bfloat16")]
    found = known(*pair, ran(0.008, batch_size=256), batch_size=256, precision="mixed_bfloat16")
    assert found.likely == pytest.approx(0.008 * 0.6)
    assert (found.low, found.high) == pytest.approx((0.0048 / SLACK, 0.0048 * SLACK))
    assert (
        "times 0.60 for precision=mixed_bfloat16 instead of float32 (1 pair of runs)" in found.basis
    )


def test_two_ratios_are_carried_over_and_three_are_not() -> None:
    first = ran(0.010)
    runs = [
        first,
        ran(0.006, precision="mixed_bfloat16"),
        ran(0.005, xla=True),
        ran(0.02, loop="fit"),
    ]
    found = known(*runs, precision="mixed_bfloat16", xla=True)
    assert found.likely == pytest.approx(0.003)
    assert "xla=true" in found.basis
    runs.append(ran(0.03, recompute=True))
    assert asked(*runs, precision="mixed_bfloat16", xla=True, loop="fit", recompute=True) is None
    # no pair differs in it alone
    assert (
        asked(first, ran(0.5, precision="mixed_float16", xla=True), precision="mixed_float16")
        is None
    )


def test_replicas_and_their_strategy_are_one_setting() -> None:
    runs = [
        ran(0.010),
        ran(0.015, replicas=2, strategy="auto"),
        ran(0.008, batch_size=128),
        ran(0.007, batch_size=128, strategy="default"),
    ]
    assert known(*runs, replicas=2, strategy="mirrored").likely == 0.015
    found = known(*runs, batch_size=128, replicas=2)
    assert found.likely == pytest.approx(0.0075 * 1.5)
    assert "2 replicas (mirrored) instead of 1 replica" in found.basis


def test_one_other_batch_says_a_little_and_a_distant_one_nothing() -> None:
    found = known(ran(0.01, batch_size=64), batch_size=128)
    assert found.low == pytest.approx(0.005 / SLACK)
    assert found.high == pytest.approx(0.01 * SLACK)
    assert found.basis.startswith("from 1 run with batch 64 alone")
    assert asked(ran(0.01, batch_size=64), batch_size=512) is None


def test_what_is_nearer_wins() -> None:
    exact = ran(0.5, batch_size=256, precision="mixed_bfloat16")
    pair = [ran(0.010), ran(0.006, precision="mixed_bfloat16"), ran(0.008, batch_size=256)]
    assert known(*pair, exact, batch_size=256, precision="mixed_bfloat16").likely == 0.5


def test_time_beside_training_is_that_of_like_runs() -> None:
    runs = [
        ran(0.01, beside=9.0),
        ran(0.01, beside=11.0),
        ran(0.01, beside=40.0, xla=True),
        ran(0.01, beside=70.0, quality_every=1),
        ran(0.01),
    ]
    assert known(*runs).beside == 10.0
    assert known(*runs, quality_every=5).beside == 70.0
    assert known(ran(0.01)).beside is None


@pytest.mark.parametrize(
    ("trains", "waits", "workers", "seconds"),
    [
        ([], [], 1, 0.0),
        ([50.0], [], 2, 0.0),
        ([50.0], [], 1, 50.0),
        ([50.0, 20.0], [100.0], 2, 50.0),
        ([50.0], [10.0, 20.0], 1, 80.0),
        ([], [10.0], 1, 10.0),
        ([None], [], 2, 0.0),
        ([None], [], 1, None),
        ([50.0], [None], 1, None),
        ([], [], 0, None),
        ([50.0, 60.0], [], 1, 50.0),  # a worker has just gone
    ],
)
def test_when_a_run_would_begin(
    trains: list[float | None], waits: list[float | None], workers: int, seconds: float | None
) -> None:
    assert begins(trains, waits, workers) == seconds


def test_stored_runs_are_read_the_newest_first(engine: Engine) -> None:
    assert past_runs.measured_runs(engine) == []
    own = training(engine, submitted(engine, seed=1))
    finish_epoch(engine, own, 1, seconds=2.0)
    finish_epoch(engine, own, 2, seconds=6.0)
    commands.finish(engine, **own, status="finished")
    finish_epoch(engine, training(engine, submitted(engine, xla=True)), 1, seconds=100.0)
    submitted(engine)  # without an epoch
    newest, older = past_runs.measured_runs(engine)
    assert (newest.config["xla"], newest.seconds, newest.images, newest.beside) == (
        True,
        100.0,
        STEPS * 64,
        None,
    )
    assert (older.host, older.seconds, older.images) == ("box", 8.0, 2 * STEPS * 64)
    assert older.beside is None  # it took less time than its epochs say: no clock can be meant
    assert len(past_runs.measured_runs(engine, limit=1)) == 1
    found = History(past_runs.measured_runs(engine), OF_SPEED).estimate(
        {"batch_size": 64, "seed": 7}
    )
    assert found is not None
    assert found.likely == 8.0 / (2 * STEPS * 64)


def test_time_beside_training_is_measured_by_the_clock(engine: Engine) -> None:
    own = training(engine, submitted(engine))
    finish_epoch(engine, own, 1, seconds=0.0)
    commands.finish(engine, **own, status="finished")
    [measured] = past_runs.measured_runs(engine)
    assert measured.beside is not None
    assert 0 <= measured.beside < 60


def test_runs_of_a_grid_are_stored_together_and_in_order(engine: Engine) -> None:
    submitted(engine)
    made = commands.create_runs(
        engine, [("a", {"seed": 1}), ("b", {"seed": 2})], preset="tiny", sweep="s1"
    )
    assert [(run.name, run.number, run.sweep, run.status) for run in made] == [
        ("a", 2, "s1", "queued"),
        ("b", 3, "s1", "queued"),
    ]
    assert [run.id for run in queries.sweep_runs(engine, "s1")] == [run.id for run in made]
    assert [run.id for run in backlog.waiting_runs(engine)][1:] == [run.id for run in made]
    assert queries.sweep_runs(engine, "other") == []
    assert commands.create_runs(engine, [], sweep="s2") == []


def test_a_grid_is_stored_whole_or_not_at_all(engine: Engine) -> None:
    with pytest.raises((StatementError, TypeError)):  # before the statement, or from its driver
        commands.create_runs(engine, [("a", {"seed": 1}), ("b", {"seed": object()})], sweep="s1")
    assert queries.count_runs(engine) == 0


def test_finished_configurations(engine: Engine) -> None:
    own = training(engine, submitted(engine, seed=1))
    commands.finish(engine, **own, status="finished")
    submitted(engine, seed=2)
    assert past_runs.finished_configs(engine) == [
        (own["run_id"], {"batch_size": 64, "seed": 1}, {})
    ]


@pytest.mark.parametrize(
    ("changes", "attempt", "left"),
    [
        ({}, 1, 90.0),
        ({"max_minutes": 1}, 1, 50.0),
        ({"max_minutes": 1}, 2, 90.0),  # when that began is not stored
        ({"max_minutes": 9}, 1, 90.0),
    ],
)
def test_the_time_left_ends_where_the_run_is_stopped(
    changes: dict[str, float], attempt: int, left: float
) -> None:
    config = {"epochs": 10, "batch_size": 10, **changes}
    run = Run(
        id="a", name="a", status="running", config=config, attempt=attempt, step=10,
        steps_per_epoch=10, seconds=10.0, images_per_second=10.0,
    )  # fmt: skip
    assert time_left(run) == left
