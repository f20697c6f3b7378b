"""The tab Losses of one run: its options, and losses that are not finite."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ganboard.db.models import Run
from ganboard.db.runs import reports
from ganboard.worker.context import Context
from tests.attempt import own
from tests.ui.pages import open_page, words
from tests.ui.pictures import figures, numbers

MakeRun = Callable[..., Run]


@pytest.mark.parametrize("view", ["Losses", "Histograms", "Descent path"])
def test_losses_that_are_not_finite(context: Context, make_run: MakeRun, view: str) -> None:
    run = make_run("diverged", status="running", epochs=1)
    broken = np.array([1.0, np.inf, -np.inf, np.nan], np.float32)
    reports.append_steps(
        context.engine, **own(run), epoch=2, first=0, g_losses=broken, d_losses=broken
    )
    nan = float("nan")
    timed = {"steps": 4, "images": 128, "seconds": 2.0, "compile_seconds": 0.0}
    reports.finish_epoch(
        context.engine,
        **own(run),
        epoch=2,
        **timed,
        g_loss=nan,
        d_loss=nan,
        g_path=(nan, nan),
        d_path=(nan, float("inf")),
    )
    at = open_page("run", run=run.id, view=view)
    assert {metric.label: metric.value for metric in at.metric}["Generator loss"] == "NaN"
    shown = figures(at)
    assert len(shown) == 2
    if view == "Losses":
        assert shown[0]["layout"]["shapes"][0]["x0"] == 6
        assert np.isnan(numbers(shown[0]["data"][0]["y"])).tolist() == [False] * 5 + [True] * 3


def test_loss_options_come_from_the_address(make_run: MakeRun) -> None:
    run = make_run("options", epochs=2)
    at = open_page(
        "run",
        run=run.id,
        x="Epoch",
        smooth="0.9",
        log="true",
        logx="true",
        robust="true",
        marks="false",
    )
    steps, epochs = figures(at)
    drawn = ["g-low", "g-high", "g", "d-low", "d-high", "d", "g-end", "d-end"]
    assert [trace["uid"] for trace in steps["data"]] == drawn
    assert (steps["layout"]["xaxis"]["type"], steps["layout"]["yaxis"]["type"]) == ("log", "log")
    assert len(steps["layout"]["yaxis"]["range"]) == len(epochs["layout"]["yaxis"]["range"]) == 2
    assert "Outliers are hidden" in words(at)
    assert numbers(steps["data"][2]["x"])[-1] == 2
    for axis, last in (("Step", 8), ("Training seconds", 4)):
        steps, epochs = figures(open_page("run", run=run.id, x=axis))
        assert numbers(steps["data"][0]["x"])[-1] == numbers(epochs["data"][0]["x"])[-1] == last
        assert [trace["uid"] for trace in steps["data"]] == [
            *("g", "d", "g-end", "d-end"),
            "events-info",
        ]
    at = open_page("run", run=run.id, x="Time (UTC)", logx="true")
    assert [figure["layout"]["xaxis"]["type"] for figure in figures(at)] == ["date", "date"]
    assert at.get_by_key("logx").disabled


@pytest.mark.usefixtures("context")
def test_smoothing_has_few_steps(make_run: MakeRun) -> None:
    at = open_page("run", run=make_run("smooth").id, smooth="0.95")
    slider = at.select_slider(key="smooth")
    assert slider.value == 0.95
    assert len(slider.options) == 10
