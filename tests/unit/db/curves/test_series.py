from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sqlalchemy import Engine

from ganboard.db.curves import reduction, series
from ganboard.db.models import utc_now
from ganboard.db.runs import reports
from tests.unit.db.stored_runs import (
    STEPS,
    finish_epoch,
    quality,
    sample,
    steps,
    submitted,
    training,
)

Floats = npt.NDArray[np.float64]


@st.composite
def curves(draw: st.DrawFn) -> tuple[list[Floats], int]:
    """Curves of one length, and the number of points asked for."""
    length = draw(st.integers(1, 300))
    shape = hnp.arrays(np.float64, length, elements=st.floats(width=32) | st.just(math.nan))
    return [draw(shape) for _ in range(draw(st.integers(1, 4)))], draw(st.integers(1, 120))


@settings(deadline=None)
@given(curves())
def test_reduced_curves_keep_what_stands_out(drawn: tuple[list[Floats], int]) -> None:
    several, points = drawn
    length = len(several[0])
    kept = reduction.extremes(several, points)
    assert (np.diff(kept) > 0).all()
    assert kept[0] >= 0
    assert kept[-1] == length - 1
    assert len(kept) <= max(points, 3 * len(several)) + 1
    if length <= points:
        assert len(kept) == length
    for curve in several:
        assert np.isnan(curve[kept]).any() == np.isnan(curve).any()
        if not np.isnan(curve).all():
            assert np.nanmin(curve[kept]) == np.nanmin(curve)
            assert np.nanmax(curve[kept]) == np.nanmax(curve)


def test_a_spike_in_each_part_of_a_long_curve_stays() -> None:
    g = np.sin(np.arange(30_000) / 500)
    d = g.copy()
    spikes = np.arange(700, 30_000, 1000)
    g[spikes], d[spikes + 50] = 9.0, -9.0
    g[20_000] = math.nan
    kept = set(reduction.extremes([g, d], 2000).tolist())
    assert {*spikes.tolist(), *(spikes + 50).tolist(), 20_000} <= kept
    assert len(kept) <= 2001


def test_steps_are_counted_over_epochs(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0])
    steps(engine, own, 2, 0, [math.nan, math.inf], [0.25, -0.0])
    frame = series.step_losses(engine, own["run_id"])
    assert list(frame.columns) == [*series.AXES, "g_loss", "d_loss", "g_smooth", "d_smooth"]
    assert frame["step"].tolist() == [1, 2, 3, 4, 5, 6]
    assert frame["epoch"].tolist() == [0.25, 0.5, 0.75, 1.0, 1.25, 1.5]
    np.testing.assert_array_equal(frame["g_loss"], [1.0, 2.0, 3.0, 4.0, math.nan, math.inf])
    np.testing.assert_array_equal(frame["d_loss"], [5.0, 6.0, 7.0, 8.0, 0.25, -0.0])
    assert frame["g_loss"].dtype == np.float64


def test_many_steps_are_reduced_and_few_are_not(engine: Engine) -> None:
    own = training(engine)
    losses = np.random.default_rng(0).normal(size=STEPS).astype(np.float32).tolist()
    for epoch in range(1, 31):
        steps(engine, own, epoch, 0, losses)
    assert len(series.step_losses(engine, own["run_id"])) == 30 * STEPS
    few = series.step_losses(engine, own["run_id"], points=30)
    assert 10 <= len(few) <= 31
    assert few["step"].is_monotonic_increasing
    assert few["g_loss"].max() == max(losses)


@pytest.mark.thorough
def test_smoothing_comes_before_reduction(engine: Engine) -> None:
    own = training(engine)
    losses = np.tile(np.float32([0.0, 0.0, 0.0, 1.0]), 300 * STEPS // 4)
    for epoch in range(300):
        steps(engine, own, epoch + 1, 0, losses[epoch * STEPS : (epoch + 1) * STEPS].tolist())
    whole = series.step_losses(engine, own["run_id"], points=300 * STEPS, smoothing=0.99)
    few = series.step_losses(engine, own["run_id"], points=60, smoothing=0.99)
    assert len(few) < 100
    expected = whole.set_index("step").loc[few["step"]]
    np.testing.assert_array_equal(few["g_smooth"], expected["g_smooth"])
    # the extremes alone would have a mean of a half
    assert few["g_smooth"].iloc[-1] == pytest.approx(0.25, abs=0.02)
    np.testing.assert_array_equal(
        series.step_losses(engine, own["run_id"])["g_smooth"], whole["g_loss"]
    )


def test_usual_losses_leave_out_the_hundredths(engine: Engine) -> None:
    own = training(engine)
    for epoch in range(1, 51):
        odd = [math.inf, math.nan] if epoch == 7 else [1e6, -1e6] if epoch == 9 else [0.5, 0.5]
        steps(engine, own, epoch, 0, [0.0, 1.0, *odd])
    assert series.step_losses(engine, own["run_id"]).attrs["usual"] == (0.0, 1.0)
    _, edges, counts = series.loss_histograms(engine, own["run_id"], net="g", robust=True)
    assert (edges[0], edges[-1]) == (0.0, 1.0)
    assert counts.sum() == 50 * STEPS - 4


def test_epochs_and_evaluations_have_all_axes(engine: Engine) -> None:
    own = training(engine)
    for epoch in (1, 2, 3):
        finish_epoch(engine, own, epoch, seconds=epoch)
    quality(engine, own, 2, training_seconds=3.0)
    done = series.epochs_frame(engine, [own["run_id"], "nothing"])
    assert done["step"].tolist() == [STEPS, 2 * STEPS, 3 * STEPS]
    assert done["training_seconds"].tolist() == [1, 3, 6]
    assert done["time"].dt.tz is None
    assert done["time"].is_monotonic_increasing
    evaluated = series.quality_frame(engine, [own["run_id"]])
    assert evaluated[["step", "training_seconds"]].to_numpy().tolist() == [[2 * STEPS, 3.0]]
    assert (evaluated["time"] >= done["time"][2]).all()
    for frame in (series.epochs_frame(engine, []), series.quality_frame(engine, [])):
        assert set(series.AXES) <= set(frame.columns)
        assert frame.empty


def test_a_run_without_steps_has_an_empty_frame(engine: Engine) -> None:
    frame = series.step_losses(engine, submitted(engine))
    assert frame.empty
    assert list(frame.columns) == [*series.AXES, "g_loss", "d_loss", "g_smooth", "d_smooth"]


def test_further_values_stand_beside_their_steps(engine: Engine) -> None:
    own = training(engine)
    steps(
        engine,
        own,
        1,
        0,
        [0.0] * 4,
        g_rate=[1.0, 2.0, 3.0, 4.0],
        d_rate=[5.0, math.nan, 7.0, math.inf],
    )
    steps(engine, own, 2, 0, [0.0] * 4)
    steps(engine, own, 3, 0, [0.0] * 2, g_rate=[8.0, 9.0])
    frame = series.step_series(engine, own["run_id"], ["d_rate", "g_rate"])
    assert list(frame.columns) == [*series.AXES, "d_rate", "g_rate"]
    assert frame["step"].tolist() == [1, 2, 3, 4, 9, 10]
    assert frame["epoch"].tolist() == [0.25, 0.5, 0.75, 1.0, 2.25, 2.5]
    np.testing.assert_array_equal(frame["g_rate"], [1.0, 2.0, 3.0, 4.0, 8.0, 9.0])
    np.testing.assert_array_equal(
        frame["d_rate"], [5.0, math.nan, 7.0, math.inf, math.nan, math.nan]
    )
    assert series.step_series(engine, own["run_id"], ["g_rate", "nothing"])["nothing"].isna().all()


def test_further_values_are_reduced_like_losses(engine: Engine) -> None:
    own = training(engine)
    values = np.random.default_rng(0).normal(size=STEPS).astype(np.float32).tolist()
    for epoch in range(1, 31):
        steps(engine, own, epoch, 0, values, g_rate=values)
    few = series.step_series(engine, own["run_id"], ["g_rate"], points=30)
    assert 10 <= len(few) <= 31
    assert few["step"].is_monotonic_increasing
    assert few["g_rate"].max() == max(values)


def test_without_further_values_the_frame_is_empty(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [1.0], g_rate=[1.0])
    for run_id, names in (
        (submitted(engine), ["g_rate"]),
        (own["run_id"], ["d_rate"]),
        (own["run_id"], []),
    ):
        frame = series.step_series(engine, run_id, names)
        assert frame.empty
        assert list(frame.columns) == [*series.AXES, *names]


def test_evaluations_of_several_runs_side_by_side(engine: Engine) -> None:
    first, second, other = (training(engine) for _ in range(3))
    for own in (first, second, other):
        quality(engine, own, 1, fid=3.0, kid=math.nan)
    quality(engine, second, 2, training_seconds=4.0, fid=math.inf)
    frame = series.quality_frame(engine, [second["run_id"], first["run_id"]])
    assert list(frame.columns) == [
        *series.QUALITY_COLUMNS, "fid", "kid", *series.QUALITY_ENDS
    ]  # fmt: skip
    assert frame[["run_id", "epoch"]].values.tolist() == sorted(
        [[first["run_id"], 1], [second["run_id"], 1], [second["run_id"], 2]]
    )
    of_second = frame[frame["run_id"] == second["run_id"]]
    assert of_second["fid"].tolist() == [3.0, math.inf]
    assert of_second["training_seconds"].tolist() == [2.0, 4.0]
    assert of_second["kid"].isna().all()
    assert of_second["histogram"].iloc[0].tolist() == [0.5, 0.25, 0.25]
    wide = series.quality_frame(engine, [first["run_id"]], ("sharpness", "kid"))
    assert list(wide.columns)[len(series.QUALITY_COLUMNS) :][:3] == ["sharpness", "kid", "fid"]
    assert wide["sharpness"].isna().all()
    assert wide["sharpness"].dtype == np.float64
    empty = series.quality_frame(engine, [submitted(engine)], ("fid",))
    assert empty.empty
    assert list(empty.columns) == [*series.QUALITY_COLUMNS, "fid", *series.QUALITY_ENDS]


def test_measures_of_several_runs_side_by_side(engine: Engine) -> None:
    first, second = training(engine), training(engine)
    finish_epoch(engine, first, 1, measures={"input_seconds": 0.5})
    finish_epoch(engine, second, 1, measures={"input_seconds": 0.25, "gflops": 100.0})
    finish_epoch(engine, second, 2)
    frame = series.measures_frame(engine, [first["run_id"], second["run_id"]])
    assert set(frame.columns) == {"run_id", "epoch", "input_seconds", "gflops"}
    np.testing.assert_array_equal(
        frame[frame["run_id"] == second["run_id"]]["gflops"], [100.0, math.nan]
    )
    np.testing.assert_array_equal(
        frame[frame["run_id"] == first["run_id"]][["epoch", "input_seconds"]], [[1, 0.5]]
    )
    for run_ids in ([], [submitted(engine)]):
        assert list(series.measures_frame(engine, run_ids).columns) == ["run_id", "epoch"]


def test_histograms_count_every_finite_loss(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [0.0, 1.0, 1.0, math.nan], [5.0] * 4)
    steps(engine, own, 2, 0, [4.0, math.inf, 2.5], [5.0] * 3)
    epochs, edges, counts = series.loss_histograms(engine, own["run_id"], net="g", bins=4)
    assert epochs == [1, 2]
    assert edges.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert counts.tolist() == [[1, 2, 0, 0], [0, 0, 1, 1]]
    _, edges, counts = series.loss_histograms(engine, own["run_id"], net="d", bins=4)
    assert edges.tolist() == [4.5, 4.75, 5.0, 5.25, 5.5]
    assert counts.tolist() == [[0, 0, 4, 0], [0, 0, 3, 0]]


def test_histograms_of_any_losses(engine: Engine) -> None:
    """Constant, huge, tiny and absent ones: the edges always rise and every finite loss is
    counted."""
    cases: list[list[float]] = [
        [0.0] * 3, [1e30] * 2, [-3e38, 3e38], [1e-45, 0.0], [-1e-45] * 2, [math.nan, math.inf],
        [1e16] * 2, [-0.0, 0.0], [1.0, 1.0000001]
    ]  # fmt: skip
    for losses in cases:
        own = training(engine)
        steps(engine, own, 1, 0, losses)
        epochs, edges, counts = series.loss_histograms(engine, own["run_id"], net="g")
        assert (epochs, edges.shape, counts.shape) == ([1], (41,), (1, 40))
        assert (np.diff(edges) > 0).all(), losses
        assert counts.sum() == np.isfinite(losses).sum(), losses
    assert series.loss_histograms(engine, submitted(engine), net="g")[0] == []


def test_epochs_of_several_runs_side_by_side(engine: Engine) -> None:
    first, second, other = (training(engine) for _ in range(3))
    for own in (first, second, other):
        finish_epoch(engine, own, 1, 0.5, math.nan, seconds=2.0)
    finish_epoch(engine, second, 2, 0.25, 1.0, seconds=0.0)
    frame = series.epochs_frame(engine, [second["run_id"], first["run_id"]])
    assert list(frame.columns) == series.EPOCH_COLUMNS
    assert len(frame) == 3
    assert frame[["run_id", "epoch"]].values.tolist() == sorted(
        frame[["run_id", "epoch"]].values.tolist()
    )
    of_second = frame[frame["run_id"] == second["run_id"]]
    assert of_second["images_per_second"].iloc[0] == 128.0
    assert math.isnan(of_second["images_per_second"].iloc[1])
    assert math.isnan(of_second["d_loss"].iloc[0])
    assert str(frame["finished_at"].dt.tz) == "UTC"


def test_no_epochs_are_an_empty_frame(engine: Engine) -> None:
    for run_ids in ([], [submitted(engine)], ["nobody"]):
        frame = series.epochs_frame(engine, run_ids)
        assert frame.empty
        assert list(frame.columns) == series.EPOCH_COLUMNS


def test_samples_are_thinned_out_but_the_newest_stays(engine: Engine) -> None:
    own = training(engine)
    start = utc_now()
    for i in range(10):
        taken: dict[str, Any] = {"at": start + timedelta(seconds=i), "cpu_percent": float(i)}
        reports.add_sample(engine, sample(own).model_copy(update=taken))
    assert series.samples_frame(engine, own["run_id"])["cpu_percent"].tolist() == list(range(10))
    assert series.samples_frame(engine, own["run_id"], points=4)["cpu_percent"].tolist() == [
        0,
        3,
        6,
        9,
    ]
    few = series.samples_frame(engine, own["run_id"], points=3)
    assert few["cpu_percent"].tolist() == [1, 5, 9]
    assert few.index.tolist() == [0, 1, 2]
    assert few["gpu_percent"].isna().all()
    assert series.samples_frame(engine, submitted(engine)).empty


def test_speeds_and_distances_of_each_run(engine: Engine) -> None:
    first, second, silent = training(engine), training(engine), submitted(engine)
    for epoch, seconds in ((1, 2.0), (2, 0.0)):
        finish_epoch(engine, first, epoch, seconds=seconds)
    quality(engine, second, 3, fid=3.5)
    quality(engine, second, 1, kid=0.5)
    run_ids = [second["run_id"], first["run_id"], silent]
    speeds, fids = series.speeds(engine, run_ids), series.evaluated(engine, run_ids)
    assert list(speeds) == list(fids) == run_ids
    np.testing.assert_array_equal(speeds[first["run_id"]], [[2.0, 128.0], [0.0, math.nan]])
    np.testing.assert_allclose(fids[second["run_id"]], [[1, math.nan], [3, 3.5]])
    assert speeds[silent].shape == fids[silent].shape == (0, 2)
    assert series.speeds(engine, []) == {}
