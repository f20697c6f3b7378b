"""What a trainer reports, in the order of a run's life: steps, epochs, images, and all of it again
after a resume."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sqlalchemy import Engine, event

from ganboard.db.curves import series
from ganboard.db.runs import commands, queries, reports
from tests.unit.db.stored_runs import (
    STEPS,
    claimed,
    contents,
    finish_epoch,
    quality,
    sample,
    start,
    steps,
    stored,
    texts,
    training,
)


def losses(engine: Engine, run_id: str, epoch: int) -> tuple[list[float], list[float]]:
    row = queries.step_losses(engine, run_id, epoch)
    assert row is not None
    return row.g_losses.tolist(), row.d_losses.tolist()


def test_the_start_reports_what_is_trained(engine: Engine) -> None:
    own = claimed(engine)
    start(engine, own)
    run = stored(engine, own["run_id"])
    assert (
        run.hardware,
        run.examples,
        run.steps_per_epoch,
        run.g_parameters,
        run.d_parameters,
    ) == ({"host": "box"}, 256, STEPS, 3, 2)
    assert (run.step, run.epoch, run.status) == (0, 0, "starting")
    assert not any(text.startswith("Resumed") for text in texts(engine, run.id))


def test_steps_arrive_in_pieces(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [1.0, 2.0], [5.0, 6.0])
    assert (
        stored(engine, own["run_id"]).step,
        stored(engine, own["run_id"]).g_loss,
        stored(engine, own["run_id"]).d_loss,
    ) == (2, 2.0, 6.0)
    steps(engine, own, 1, 2, [3.0, 4.0], [7.0, 8.0])
    assert losses(engine, own["run_id"], 1) == ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0])
    steps(engine, own, 2, 0, [9.0])
    assert losses(engine, own["run_id"], 2) == ([9.0], [9.0])
    assert stored(engine, own["run_id"]).step == STEPS + 1


def test_the_rate_is_kept_until_there_is_a_new_one(engine: Engine) -> None:
    own = training(engine)
    one = np.ones(1, dtype=np.float32)
    reports.append_steps(
        engine, **own, epoch=1, first=0, g_losses=one, d_losses=one, images_per_second=123.5
    )
    reports.append_steps(engine, **own, epoch=1, first=1, g_losses=one, d_losses=one)
    assert stored(engine, own["run_id"]).images_per_second == 123.5


def test_a_loss_that_is_no_number_is_shown_as_it_is(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [1.0, math.nan], [1.0, -math.inf])
    run = stored(engine, own["run_id"])
    assert run.g_loss is not None
    assert math.isnan(run.g_loss)
    assert run.d_loss == -math.inf


def test_a_resumed_attempt_overlays_the_steps_it_repeats(engine: Engine) -> None:
    old = training(engine, lease_seconds=-1)
    steps(engine, old, 1, 0, [1.0, 2.0, 3.0])
    new = training(engine, old["run_id"], start_step=1)
    assert "Resumed after epoch 0, step 1 of the next." in texts(engine, new["run_id"])
    assert stored(engine, new["run_id"]).step == 1
    steps(engine, new, 1, 1, [20.0])
    # the prefix stays, the rest until it is repeated, too
    assert losses(engine, new["run_id"], 1)[0] == [1.0, 20.0, 3.0]
    steps(engine, new, 1, 2, [30.0, 40.0])
    assert losses(engine, new["run_id"], 1)[0] == [1.0, 20.0, 30.0, 40.0]
    row = queries.step_losses(engine, new["run_id"], 1)
    assert row is not None
    assert row.attempt == new["attempt"]


def test_a_repeated_report_changes_nothing(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [1.0, 2.0])
    before = contents(engine)
    steps(engine, own, 1, 0, [1.0, 2.0])
    assert contents(engine) == before


@pytest.mark.parametrize(("known", "first"), [([], 1), ([1.0, 2.0], 3)])
def test_a_gap_between_steps_is_an_error_that_changes_nothing(
    engine: Engine, known: list[float], first: int
) -> None:
    own = training(engine)
    if known:
        steps(engine, own, 1, 0, known)
    before = contents(engine)
    with pytest.raises(
        ValueError,
        match=f"run {own['run_id']}, epoch 1: steps {len(known)} to {first - 1} are missing",
    ):
        steps(engine, own, 1, first, [9.0])
    assert contents(engine) == before


def series_of(engine: Engine, run_id: str, epoch: int) -> dict[str, list[float]]:
    return {
        name: values.tolist() for name, values in queries.step_series(engine, run_id, epoch).items()
    }


def test_further_values_of_each_step_are_overlaid_like_losses(engine: Engine) -> None:
    old = training(engine, lease_seconds=-1)
    steps(engine, old, 1, 0, [1.0, 2.0], g_rate=[0.5, 0.25], d_rate=[4.0, 5.0])
    steps(engine, old, 1, 2, [3.0], g_rate=[0.125], d_rate=[6.0])
    new = training(engine, old["run_id"], start_step=1)
    steps(engine, new, 1, 1, [20.0], g_rate=[8.0], d_rate=[50.0])
    assert series_of(engine, new["run_id"], 1) == {
        "g_rate": [0.5, 8.0, 0.125],
        "d_rate": [4.0, 50.0, 6.0],
    }
    before = contents(engine)
    steps(engine, new, 1, 1, [20.0], g_rate=[8.0], d_rate=[50.0])
    assert contents(engine) == before
    with pytest.raises(ValueError, match="steps 3 to 4 are missing"):
        steps(engine, new, 1, 5, [9.0], g_rate=[9.0])
    assert contents(engine) == before
    assert series_of(engine, new["run_id"], 2) == {}


def test_values_that_begin_in_the_middle_of_an_epoch_are_unknown_before(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [1.0, 2.0])
    steps(engine, own, 1, 2, [3.0, 4.0], g_rate=[0.5, math.inf])
    np.testing.assert_array_equal(
        series_of(engine, own["run_id"], 1)["g_rate"], [math.nan, math.nan, 0.5, math.inf]
    )


def test_measures_that_are_not_finite_are_dropped(engine: Engine) -> None:
    own = training(engine)
    finish_epoch(
        engine,
        own,
        1,
        measures={
            "input_seconds": 0.1,
            "gflops": math.nan,
            "peak_share": math.inf,
            "overflows": np.float32(3),
        },
    )
    finish_epoch(engine, own, 2)
    assert [epoch.measures for epoch in queries.epochs(engine, own["run_id"])] == [
        {"input_seconds": 0.1, "overflows": 3.0},
        {},
    ]
    # trained again: nothing stays of the first time
    finish_epoch(engine, own, 1, measures={"gflops": 7.0})
    assert queries.epochs(engine, own["run_id"])[0].measures == {"gflops": 7.0}


def test_an_evaluation_is_kept_to_the_bit_and_once_per_epoch(engine: Engine) -> None:
    own = training(engine)
    quality(engine, own, 4, fid=math.nan, kid=-0.0, recall=math.inf)
    quality(engine, own, 2, training_seconds=1.5, fid=0.2, kid=0.3)
    quality(engine, own, 2, training_seconds=1.5, fid=0.1)
    early, late = queries.qualities(engine, own["run_id"])
    assert (early.epoch, early.measures, early.training_seconds, early.seconds) == (
        2,
        {"fid": 0.1},
        1.5,
        0.5,
    )
    assert early.histogram.tolist() == [0.5, 0.25, 0.25]
    assert {name: str(value) for name, value in late.measures.items()} == {
        "fid": "nan",
        "kid": "-0.0",
        "recall": "inf",
    }
    assert late.attempt == 1
    assert [quality.epoch for quality in queries.qualities(engine, own["run_id"], after=2)] == [4]


def test_evaluations_and_their_metrics_are_read_with_two_statements(engine: Engine) -> None:
    own = training(engine)
    for epoch in range(1, 6):
        quality(engine, own, epoch, fid=float(epoch), kid=0.5)
    statements: list[str] = []
    event.listen(
        engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2])
    )
    found = queries.qualities(engine, own["run_id"])
    assert [one.measures["fid"] for one in found] == [1, 2, 3, 4, 5]
    assert len([text for text in statements if text.startswith("SELECT")]) == 2


def test_metrics_go_with_their_run(engine: Engine) -> None:
    own = training(engine)
    quality(engine, own, 1)
    commands.finish(engine, **own, status="finished")
    assert len(contents(engine)["metric"]) == 1
    commands.delete_run(engine, run_id=own["run_id"])
    assert contents(engine)["metric"] == []


def test_facts_are_merged_key_by_key(engine: Engine) -> None:
    own = training(engine)
    assert stored(engine, own["run_id"]).facts == {}
    reports.add_facts(engine, **own, values={"form": "plain", "largest_batch": 512})
    reports.add_facts(engine, **own, values={"form": "fused", "off_accelerator": ["Gather"]})
    assert stored(engine, own["run_id"]).facts == {
        "form": "fused",
        "largest_batch": 512,
        "off_accelerator": ["Gather"],
    }


def test_a_finished_epoch_sums_up(engine: Engine) -> None:
    own = training(engine)
    finish_epoch(engine, own, 1, 0.1, -0.0, seconds=2.0)
    finish_epoch(engine, own, 2, 0.2, math.inf, seconds=0.5)
    first, second = queries.epochs(engine, own["run_id"])
    assert (first.g_loss, first.d_loss.hex(), first.seconds, first.compile_seconds) == (
        0.1,
        "-0x0.0p+0",
        2.0,
        0.25,
    )
    assert (second.g_x, second.g_y, second.d_x, second.d_y, second.images, second.attempt) == (
        1.0,
        2.0,
        3.0,
        4.0,
        256,
        1,
    )
    assert queries.epochs(engine, own["run_id"], after=1) == [second]
    run = stored(engine, own["run_id"])
    assert (run.epoch, run.step, run.g_loss, run.d_loss, run.seconds) == (
        2,
        2 * STEPS,
        0.2,
        math.inf,
        2.5,
    )
    assert run.images_per_second == (256 / 2.0 + 256 / 0.5) / 2
    losses = np.ones(1, np.float32)
    reports.append_steps(
        engine, **own, epoch=3, first=0, g_losses=losses, d_losses=losses, images_per_second=7.0
    )
    finish_epoch(engine, own, 3, seconds=0.5)
    # the median, whatever single steps did
    assert stored(engine, own["run_id"]).images_per_second == 256 / 0.5


def test_an_epoch_in_no_time_has_no_rate(engine: Engine) -> None:
    own = training(engine)
    finish_epoch(engine, own, 1, seconds=0.0)
    assert stored(engine, own["run_id"]).images_per_second is None


@pytest.mark.parametrize(
    ("again", "differs"), [(0.1, False), (math.nextafter(0.1, 1), True), (math.nan, True)]
)
def test_an_epoch_trained_again_is_compared_to_the_bit(
    engine: Engine, again: float, differs: bool
) -> None:
    old = training(engine, lease_seconds=-1)
    finish_epoch(engine, old, 1, 0.1, math.nan)
    new = training(engine, old["run_id"])
    finish_epoch(engine, new, 1, again, math.nan, seconds=4.0)
    warnings = [
        event.text for event in queries.events(engine, new["run_id"]) if event.level == "warning"
    ]
    assert warnings == (["Epoch 1 was trained again with different losses."] if differs else [])
    (epoch,) = queries.epochs(engine, new["run_id"])
    assert (epoch.attempt, epoch.g_loss.hex(), epoch.seconds) == (2, again.hex(), 4.0)
    assert stored(engine, new["run_id"]).seconds == 4.0


def test_grids_are_kept_per_epoch(engine: Engine) -> None:
    own = training(engine)
    for epoch, png in ((2, b"two"), (0, b"zero"), (2, b"two again")):
        reports.add_grid(engine, **own, epoch=epoch, rows=4, columns=5, png=png)
    assert queries.grid_epochs(engine, own["run_id"]) == [0, 2]
    grid = queries.grid(engine, own["run_id"], 2)
    assert grid is not None
    assert (grid.png, grid.rows, grid.columns) == (b"two again", 4, 5)
    assert queries.grid(engine, own["run_id"], 1) is None


def test_events_come_newest_first(engine: Engine) -> None:
    own = training(engine)
    for text in ("one", "two", "three"):
        reports.add_event(engine, **own, level="warning", text=text)
    assert [event.text for event in queries.events(engine, own["run_id"], limit=2)] == [
        "three",
        "two",
    ]
    assert len(queries.events(engine, own["run_id"], limit=None)) == 5


def test_samples_come_in_order_of_time(engine: Engine) -> None:
    own = training(engine)
    taken = [sample(own) for _ in range(5)]
    for one in reversed(taken):
        reports.add_sample(engine, one.model_copy())
    assert list(series.samples_frame(engine, own["run_id"])["at"]) == [one.at for one in taken]
