"""The tabs of one run that show time, rates and quality."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db.models import Run
from ganboard.db.runs import reports
from ganboard.gan.events import MEASURES
from ganboard.gan.quality.declared import METRICS
from ganboard.worker.context import Context
from tests.attempt import own
from tests.factories import validation
from tests.traces import put_trace
from tests.ui.pages import checked, open_page, words
from tests.ui.pictures import figures, numbers

MakeRun = Callable[..., Run]


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def traces(figure: dict[str, Any]) -> list[str]:
    """Without events and the names at the ends of curves."""
    uids = [trace["uid"] for trace in figure["data"]]
    return [uid for uid in uids if not uid.startswith("events-") and not uid.endswith("-end")]


def test_timings_say_where_the_time_went(make_run: MakeRun) -> None:
    run = make_run("timed", epochs=3, steps_per_epoch=4, seconds_per_epoch=2.0, replicas=2)
    at = open_page("run", run=run.id, view="Timings")
    parts, per_step, rate = figures(at)
    assert traces(parts) == [
        "compute_seconds",
        "reduce_seconds",
        "input_seconds",
        "host_seconds",
        "compile_seconds",
    ]
    assert numbers(parts["data"][0]["y"]) == pytest.approx([1.6] * 3)
    assert traces(per_step) == ["step_p50", "step_p95", "step_max"]
    assert numbers(rate["data"][0]["y"]) == [64.0] * 3
    assert "All-reduce of the gradients: 10 %" in words(at)
    assert "**Bottleneck**: forward, backward and update, 80 %." in words(at)
    assert "Try " not in words(at)  # neither XLA nor bfloat16 saves time on this machine
    shown = metrics(at)
    assert (
        shown["Step, median"],
        shown["Longest step"],
        shown["GFLOP/s"],
        shown["Share of peak"],
    ) == ("500 ms", "1.2 s", "120.0", "62 %")
    assert shown["All-reduce per step"] == "9.54 MiB"
    assert all(metric.help for metric in at.metric)
    for axis, last in (("Step", 12.0), ("Training seconds", 6.0)):
        bars, *curves = figures(open_page("run", run=run.id, view="Timings", when=axis))
        assert [numbers(curve["data"][0]["x"])[-1] for curve in curves] == [last, last]
        assert numbers(bars["data"][0]["x"]) == [1, 2, 3]
    facts = dict(at.dataframe[0].value.itertuples(index=False, name=None))
    assert facts["Largest global batch that fits, by the estimate"] == "4,096"
    assert facts["Memory measured in the first steps"] == "1.16 GiB"
    assert (
        facts["Operations of the training step that are not placed on the accelerator"]
        == "IteratorGetNext, RandomUniform"
    )
    assert at.dataframe[1].value["Epoch"].tolist() == [1, 2, 3]
    assert MEASURES["d_real"] in at.dataframe[1].value


def test_timings_of_a_run_that_was_not_measured(make_run: MakeRun) -> None:
    at = open_page("run", run=make_run("old", measured=False).id, view="Timings")
    parts, _ = figures(at)
    assert traces(parts) == ["seconds", "compile_seconds"]
    assert numbers(parts["data"][0]["y"]) == [2.0] * 3
    assert "Step, median" not in metrics(at)
    assert not at.dataframe


def test_epochs_from_before_and_after_an_update(context: Context, make_run: MakeRun) -> None:
    run = make_run("updated", status="running", epochs=1, measured=False)
    own_measures = {"compute_seconds": 1.5, "host_seconds": 0.5}
    reports.finish_epoch(
        context.engine, **own(run), epoch=2, steps=4, images=128, seconds=1.5, compile_seconds=0.0,
        g_loss=1.0, d_loss=1.0, g_path=(0.0, 0.0), d_path=(0.0, 0.0), measures=own_measures,
    )  # fmt: skip
    parts, _ = figures(open_page("run", run=run.id, view="Timings"))
    assert traces(parts) == ["seconds", "compute_seconds", "host_seconds", "compile_seconds"]
    np.testing.assert_array_equal(numbers(parts["data"][0]["y"]), [2.0, np.nan])
    np.testing.assert_array_equal(numbers(parts["data"][1]["y"]), [np.nan, 1.5])


def test_rates_of_every_step(context: Context, make_run: MakeRun) -> None:
    run = make_run("rates", epochs=2, steps_per_epoch=4, d_learning_rate=2e-4)
    (rates,) = figures(open_page("run", run=run.id, view="Rates"))
    assert traces(rates) == ["g_rate", "g_effective", "d_rate", "d_effective"]
    assert rates["layout"]["yaxis"]["type"] == "log"
    assert numbers(rates["data"][2]["x"]) == list(range(1, 9))
    assert numbers(rates["data"][2]["y"]) == pytest.approx([2e-4] * 8)
    (rates,) = figures(open_page("run", run=run.id, view="Rates", along="Epoch"))
    assert numbers(rates["data"][0]["x"])[-1] == 2.0
    assert "The learning rates appear with the first steps." in words(
        open_page("run", run=make_run("begun", status="running", epochs=0).id, view="Rates")
    )
    assert "No samples were recorded." in words(
        open_page("run", run=make_run("old", measured=False).id, view="Rates")
    )


def test_quality_over_epochs_and_seconds(make_run: MakeRun) -> None:
    run = make_run("quality", epochs=4, seconds_per_epoch=3.0, quality_every=1)
    at = open_page("run", run=run.id, view="Quality")
    shown = figures(at)
    assert [traces(figure) for figure in shown[:7]] == [
        ["fid"], ["kid"], ["precision", "recall"], ["density", "coverage"], ["class_distance"],
        ["diversity"], ["memorization"],
    ]  # fmt: skip
    assert numbers(shown[0]["data"][0]["x"]) == [1, 2, 3, 4]
    assert numbers(shown[0]["data"][0]["y"]) == pytest.approx([42.0, 22.0, 2 + 40 / 3, 12.0])
    assert traces(shown[7]) == ["generated", "equal"]
    assert sum(numbers(shown[7]["data"][0]["y"])) == pytest.approx(100)
    assert metrics(at)["Best FID (classifier)"] == "12.00"
    assert metrics(at)["Time to FID (classifier) 14"] == "12 s"  # 1.1 times the best, rounded up
    assert (metrics(at)["Evaluation took"], metrics(at)["Share of total time"]) == ("3.6 s", "23 %")
    assert "not Inception" in words(at)
    at = checked(at.get_by_key("goal").set_value(22.0).run())
    assert metrics(at)["Time to FID (classifier) 22"] == "6.0 s"
    at = checked(at.get_by_key("goal").set_value(1.0).run())
    assert metrics(at)["Time to FID (classifier) 1"] == "not reached"
    at = open_page("run", run=run.id, view="Quality", over="Training seconds", goal="15.5")
    assert numbers(figures(at)[1]["data"][0]["x"]) == [3, 6, 9, 12]
    assert metrics(at)["Time to FID (classifier) 15.5"] == "9.0 s"


PIX2PIX = {"model": "pix2pix", "dataset": "vortex_street", "geometry": "64x64"}
GAN3D = {"model": "gan3d", "dataset": "showers"}


def test_quality_of_flows(make_run: MakeRun) -> None:
    at = open_page(
        "run", run=make_run("flows", epochs=4, quality_every=1, **PIX2PIX).id, view="Quality"
    )
    assert [traces(figure) for figure in figures(at)] == [["l1", "l1_train", "l1_standing"]]
    shown = metrics(at)
    assert (shown["Best L1"], shown["Newest L1"]) == ("0.1200", "0.1200")
    assert "Time to L1 0.14" in shown
    assert "Classes" not in words(at)
    assert "mean absolute difference of fields" in words(at)


def test_quality_of_showers_with_what_they_look_like(context: Context, make_run: MakeRun) -> None:
    run = make_run("showers", epochs=2, status="running", quality_every=1, **GAN3D)
    at = open_page("run", run=run.id, view="Quality")
    assert [traces(figure)[0] for figure in figures(at)] == [
        "objective", "moment_error", "angle_error", "sampling_error", "correlation_error", "empty",
    ]  # fmt: skip
    reports.add_facts(context.engine, **own(run), values={"validation": validation()})
    at = open_page("run", run=run.id, view="Quality")
    physics = figures(at)[6:]
    assert [traces(figure) for figure in physics] == [["real", "generated"]] * 9 + [
        ["real"],
        ["generated"],
    ]
    assert numbers(physics[0]["data"][1]["y"]) == [1.5, 2.5, 0.0]
    assert "300 generated and as many real showers" in words(at)
    assert "validation" not in words(open_page("run", run=run.id, view="Timings"))


def test_histograms_with_and_without_outliers(context: Context, make_run: MakeRun) -> None:
    run = make_run("spread", status="running", epochs=60, steps_per_epoch=10)
    losses = np.array([0.7, 50.0], np.float32)
    reports.append_steps(
        context.engine, **own(run), epoch=61, first=0, g_losses=losses, d_losses=losses
    )
    generator, _ = figures(open_page("run", run=run.id, view="Histograms"))
    assert traces(generator) == ["density", "mean", "trend"]
    assert numbers(generator["data"][0]["y"])[-1] > 45
    at = open_page("run", run=run.id, view="Histograms", common="true")
    assert numbers(figures(at)[0]["data"][0]["y"])[-1] < 2
    assert "Outliers are excluded" in words(at)


def test_quality_that_could_not_be_computed(context: Context, make_run: MakeRun) -> None:
    run = make_run("diverged", status="running", epochs=1)
    nan = dict.fromkeys(METRICS, float("nan"))
    evaluated = {
        "epoch": 1,
        "seconds": 0.5,
        "training_seconds": 2.0,
        "measures": nan,
        "histogram": [float("nan")] * 10,
    }
    reports.add_quality(context.engine, **own(run), **evaluated)
    at = open_page("run", run=run.id, view="Quality")
    assert (
        metrics(at)["Best FID (classifier)"],
        metrics(at)["Newest FID (classifier)"],
        metrics(at)["Seconds to FID (classifier)"],
    ) == ("–", "NaN", "–")
    assert len(figures(at)) == 8


def test_real_classes_stand_beside_the_generated_ones(context: Context, make_run: MakeRun) -> None:
    run = make_run("classes", status="running", epochs=1, quality_every=1)
    reports.add_facts(context.engine, **own(run), values={"class_shares": [0.1] * 10})
    plot = figures(open_page("run", run=run.id, view="Quality"))[7]
    assert traces(plot) == ["generated", "real"]
    assert numbers(plot["data"][1]["y"]) == pytest.approx([10.0] * 10)


def test_quality_says_when_it_comes_and_appears_by_itself(
    context: Context, make_run: MakeRun
) -> None:
    assert "Training does not evaluate this run, since quality_every is 0." in words(
        open_page("run", run=make_run("unevaluated", status="running", epochs=1).id, view="Quality")
    )
    assert "Epoch 3 is stored as a checkpoint and not evaluated." in words(
        open_page("run", run=make_run("ended").id, view="Quality")
    )
    run = make_run("evaluated later", status="running", epochs=1, quality_every=2)
    at = open_page("run", run=run.id, view="Quality")
    assert "The first evaluation follows epoch 2." in words(at)
    evaluated = {
        "epoch": 2,
        "seconds": 0.5,
        "training_seconds": 4.0,
        "measures": {"fid": 9.0},
        "histogram": [0.5, 0.5],
    }
    reports.add_quality(context.engine, **own(run), **evaluated)
    assert len(figures(checked(at.run()))) == 8


def test_timings_offer_the_profiler_trace(context: Context, make_run: MakeRun) -> None:
    run = make_run("profiled", profile_steps="2:4")
    assert "no profiler trace on this machine" in words(
        open_page("run", run=run.id, view="Timings")
    )
    put_trace(context, run.id)
    at = open_page("run", run=run.id, view="Timings")
    (expander,) = [one for one in at.expander if one.label.startswith("Profiler trace")]
    assert expander.label == "Profiler trace, profile_steps=2:4"
    (table,) = expander.dataframe
    assert [name.rpartition("/")[2] for name in table.value["File"]] == [
        "box.trace.json.gz",
        "box.xplane.pb",
    ]
    links = [one.proto.url for one in expander.get("link_button")]
    assert links == [f"/api/runs/{run.id}/profile.zip", f"/api/runs/{run.id}/trace.json.gz"]
