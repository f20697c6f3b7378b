"""Points of panels from real databases: alignment, axes, gaps and what is said of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ganboard.db.curves import series, stored
from ganboard.db.models import Run
from ganboard.worker.context import Context
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.metrics import EXAMPLES, examples, meaning
from ganboard.worker.panels.points import compute
from tests.scripts import NOON, script_run

MakeRun = Callable[..., Run]


def test_every_stored_metric_can_be_a_panel(context: Context, make_run: MakeRun) -> None:
    run = make_run(epochs=3, quality_every=1)
    found = stored.available(context.engine, [run.id])
    assert {*found.values()} == {"step", "epoch", "evaluation"}
    assert {"g_loss", "g_rate", "d_loss_mean", "step_p95", "images_per_second", "fid", "g_x"} <= {
        *found
    }
    for name, cadence in found.items():
        points = compute(context.engine, run.id, name, "seconds")
        assert len(points.y) == {"step": 12, "epoch": 3, "evaluation": 3}[cadence]
        assert points.notes == ()
        assert meaning(name, cadence) != name
    assert examples(found) == list(EXAMPLES[:4])


def test_values_and_axes_are_those_of_the_other_charts(context: Context, make_run: MakeRun) -> None:
    run = make_run(epochs=3, quality_every=1)
    steps = series.step_losses(context.engine, run.id)
    for axis, column in (("step", "step"), ("epoch", "epoch"), ("seconds", "training_seconds")):
        points = compute(context.engine, run.id, "g_loss", axis)
        np.testing.assert_allclose(points.x, steps[column].to_numpy(float))
        np.testing.assert_array_equal(points.y, steps["g_loss"])
    points = compute(context.engine, run.id, "g_loss", "time")
    np.testing.assert_array_equal(points.x, steps["time"].to_numpy("datetime64[ms]"))
    images = compute(context.engine, run.id, "fid", "images").x
    done = series.epochs_frame(context.engine, [run.id])
    np.testing.assert_array_equal(images, done["images"].cumsum())
    rate = compute(context.engine, run.id, "images_per_second", "epoch")
    np.testing.assert_array_equal(rate.y, done["images_per_second"])
    ratio = compute(context.engine, run.id, "d_loss / g_loss").y
    np.testing.assert_array_equal(ratio, steps["d_loss"] / steps["g_loss"])


def test_different_cadences_are_aligned_by_epoch_and_that_is_said(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run(epochs=4, quality_every=2)
    losses = compute(context.engine, run.id, "g_loss").y.reshape(4, 4)
    fid = compute(context.engine, run.id, "fid").y
    points = compute(context.engine, run.id, "fid * g_loss", "epoch")
    assert points.x.tolist() == [2, 4]
    np.testing.assert_allclose(points.y, fid * losses.mean(axis=1)[1::2])
    assert points.notes == (
        "Aligned by epoch, as fid and g_loss have values at different steps; g_loss is averaged"
        " over each epoch.",
    )
    points = compute(context.engine, run.id, "fid + epoch_seconds")
    assert points.steps.tolist() == [8, 16]
    assert points.notes == ("Only where fid and epoch_seconds all have a value: at 2 of 4.",)


def test_any_metric_can_be_the_x_axis(context: Context, make_run: MakeRun) -> None:
    run = make_run(epochs=3, quality_every=1)
    points = compute(context.engine, run.id, "g_y", "g_x")
    assert points.notes == ()
    assert points.x.tolist() == compute(context.engine, run.id, "g_x").y.tolist()
    points = compute(context.engine, run.id, "fid", "log(epoch - 1)")
    assert np.isnan(points.x[0])
    assert points.notes == (
        "Of the x axis: 1 of 3 values is a gap: logarithm of a number that is not positive.",
    )
    assert compute(context.engine, run.id, "seconds", "epoch").y.tolist() == [2, 4, 6]


def test_gaps_are_counted_and_long_series_keep_their_extremes(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run(epochs=5, steps_per_epoch=200)
    points = compute(context.engine, run.id, "1 / (step - 7) * g_loss", points=90)
    assert points.notes == ("1 of 1,000 values is a gap: division by zero.",)
    assert len(points.y) < 200
    whole = compute(context.engine, run.id, "1 / (step - 7) * g_loss").y
    assert np.nanmax(points.y) == np.nanmax(whole)
    assert np.isnan(points.y).any()
    smooth = compute(context.engine, run.id, "g_loss", smoothing=0.9)
    other = compute(context.engine, run.id, "ema(g_loss, 0.9)")
    np.testing.assert_array_equal(smooth.smooth, other.y)
    assert smooth.y.tolist() != other.y.tolist()


def test_what_is_not_stored_is_refused_with_near_names(context: Context, make_run: MakeRun) -> None:
    run = make_run(epochs=1)
    with pytest.raises(BadPanel, match=r"no metric 'images_per_secnd'\. Did you mean images_per"):
        compute(context.engine, run.id, "images_per_secnd")
    with pytest.raises(BadPanel, match=r"no metric 'fid'"):
        compute(context.engine, run.id, "g_loss", "fid")
    waiting = make_run(status="queued")
    with pytest.raises(BadPanel, match=r"Stored are epoch, images, seconds, step\."):
        compute(context.engine, waiting.id, "zzz")


def test_what_a_script_logged(context: Context) -> None:
    run = script_run(context)
    found = stored.available(context.engine, [run.id])
    assert found["psnr"] == found["val_psnr"] == "logged"
    assert "g_x" not in found
    points = compute(context.engine, run.id, "psnr - val_psnr", "seconds")
    assert points.steps.tolist() == [10, 20, 30]
    assert points.y.tolist() == [20, 20, 20]
    assert points.notes == ("Only where psnr and val_psnr all have a value: at 3 of 30.",)
    at = compute(context.engine, run.id, "psnr", "time").x
    assert at[0] == np.datetime64(int(NOON.timestamp() + 1), "s")
    assert compute(context.engine, run.id, "psnr", "images").x[:2].tolist() == [16, 32]
    with pytest.raises(BadPanel, match="no metric 'd_real'"):
        compute(context.engine, run.id, "d_real")
