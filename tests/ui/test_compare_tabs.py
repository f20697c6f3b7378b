"""The tabs of the comparison: losses, images, quality, timings, settings, parallel coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ganboard.db import requests
from ganboard.db.models import Run
from ganboard.db.runs import evaluations, reports
from ganboard.gan.events import REAL_IMAGES
from ganboard.gan.settings.features import FACT
from ganboard.worker.context import Context
from ganboard.worker.figures.palette import run_colour
from tests.factories import png
from tests.ui.pages import button, checked, open_page, words
from tests.ui.pictures import captions, figures, numbers
from tests.ui.test_compare import ids

MakeRun = Callable[..., Run]


def test_losses_by_epoch_and_step_in_the_colours_of_the_runs(make_run: MakeRun) -> None:
    runs = [make_run("a", epochs=2), make_run("b", epochs=5)]
    at = open_page("compare", runs=ids(runs))
    g, d = figures(at)
    assert [(trace["uid"], trace["line"]["color"]) for trace in g["data"]] == [
        (run.id, run_colour(run.number)) for run in runs
    ]
    assert numbers(d["data"][1]["x"]) == [1, 2, 3, 4, 5]
    reverse = figures(open_page("compare", runs=ids(runs[::-1])))[0]["data"]
    assert {trace["uid"]: trace["line"] for trace in reverse} == {
        trace["uid"]: trace["line"] for trace in g["data"]
    }
    at = open_page("compare", runs=ids(runs), by="Step", smooth="0.5")
    assert numbers(figures(at)[0]["data"][-1]["x"]) == list(range(1, 21))
    assert len(figures(at)[0]["data"]) == 4


def test_one_slider_for_all_images(make_run: MakeRun) -> None:
    runs = [
        make_run("short", epochs=2),
        make_run("long", epochs=6),
        make_run("none", status="queued"),
    ]
    at = open_page("compare", runs=ids(runs), part="Images")
    assert captions(at) == ["After epoch 2, its last before 6", "After epoch 6"]
    assert "No grid up to this epoch." in words(at)
    at = checked(at.get_by_key("at").set_value(1).run())
    assert captions(at) == ["After epoch 1", "After epoch 1"]


def test_timings_against_a_baseline_that_can_be_changed(make_run: MakeRun) -> None:
    runs = [make_run("slow", seconds_per_epoch=4.0), make_run("fast", seconds_per_epoch=2.0)]
    at = open_page("compare", runs=ids(runs), part="Timings")
    seconds, rate, memory, step, gflops, parts = figures(at)
    assert seconds["data"][0]["text"] == ["4.00 · baseline", "2.00 · 0.50×"]
    assert rate["data"][0]["text"] == ["32 · baseline", "64 · 2.00×"]
    assert step["data"][0]["text"] == ["1,000.0 · baseline", "500.0 · 0.50×"]  # milliseconds
    assert gflops["data"][0]["text"] == ["120.0 · baseline", "120.0 · 1.00×"]
    assert memory["data"][0]["text"] == ["1,240 · baseline", "1,240 · 1.00×"]
    assert [trace["uid"] for trace in parts["data"]] == [
        "compute_seconds",
        "reduce_seconds",
        "input_seconds",
        "host_seconds",
    ]
    assert [numbers(trace["x"]) for trace in parts["data"]] == [
        pytest.approx([share] * 2) for share in (90, 0, 2, 8)
    ]
    at = checked(at.get_by_key("base").set_value(runs[1].id).run())
    assert figures(at)[0]["data"][0]["text"] == ["4.00 · 2.00×", "2.00 · baseline"]


def test_timings_of_runs_that_were_not_measured(make_run: MakeRun) -> None:
    runs = [make_run("old", measured=False), make_run("older", measured=False)]
    assert len(figures(open_page("compare", runs=ids(runs), part="Timings"))) == 2
    runs.append(make_run("new", replicas=2))
    *_, reduce, parts = figures(open_page("compare", runs=ids(runs), part="Timings"))
    assert reduce["data"][0]["text"] == ["", "", "10.00"]
    np.testing.assert_array_equal(np.isnan(numbers(parts["data"][0]["x"])), [True, True, False])


def test_quality_over_seconds_and_over_epochs(make_run: MakeRun) -> None:
    runs = [
        make_run("slow", epochs=4, seconds_per_epoch=4.0, quality_every=1),
        make_run("fast", epochs=4, seconds_per_epoch=1.0, quality_every=2),
        make_run("never evaluated", epochs=4),
    ]
    at = open_page("compare", runs=ids(runs), part="Quality")
    (by_seconds,), (by_epoch,) = (
        figures(at),
        figures(open_page("compare", runs=ids(runs), part="Quality", over="Epoch")),
    )
    assert [trace["line"]["color"] for trace in by_epoch["data"]] == [
        run_colour(run.number) for run in runs
    ]
    assert [numbers(trace["x"]) for trace in by_seconds["data"]] == [[4, 8, 12, 16], [2, 4], []]
    assert [numbers(trace["x"]) for trace in by_epoch["data"]] == [[1, 2, 3, 4], [2, 4], []]
    at = checked(at.get_by_key("goal").set_value(22.0).run())
    table = at.dataframe[1].value.set_index("Run")
    columns = [
        "Best FID (classifier)",
        "After epoch",
        "After",
        "Time to FID (classifier) 22",
        "Ratio",
        "Baseline",
    ]
    assert table.loc["slow", columns].tolist() == ["12.00", "4", "16 s", "8.0 s", "1.00×", "●"]
    assert table.loc["fast", columns].tolist() == ["12.00", "4", "4.0 s", "2.0 s", "0.25×", ""]
    assert table.loc["never evaluated", columns].tolist() == ["–", "–", "–", "–", "–", ""]
    at = checked(at.get_by_key("goal").set_value(1.0).run())
    assert at.dataframe[1].value["Time to FID (classifier) 1"].tolist() == [
        "not reached",
        "not reached",
        "–",
    ]
    assert at.dataframe[1].value["Ratio"].tolist() == ["–"] * 3
    at = checked(at.get_by_key("measure").set_value("recall").run())
    assert numbers(figures(at)[0]["data"][0]["y"]) == pytest.approx([0.51, 0.52, 0.53, 0.54])
    assert "**Recall (classifier)** :gray[Share of real images" in words(at)


def test_quality_of_runs_without_evaluations(make_run: MakeRun) -> None:
    runs = [make_run("a"), make_run("b", status="queued")]
    at = open_page("compare", runs=ids(runs), part="Quality")
    assert "2 of 2 runs have no evaluation. 1 has no checkpoint of a finished epoch" in words(at)
    assert not figures(at)


def test_quality_of_eight_runs(make_run: MakeRun) -> None:
    runs = [make_run(f"run {n}", epochs=2, quality_every=1, seed=n) for n in range(8)]
    at = open_page("compare", runs=ids(runs), part="Quality")
    assert len({trace["line"]["color"] for trace in figures(at)[0]["data"]}) == 8
    assert at.dataframe[1].value["Run"].tolist() == [f"run {n}" for n in range(8)]


def test_only_settings_that_differ(make_run: MakeRun) -> None:
    runs = [make_run("same"), make_run("same", xla=True), make_run("other", g_learning_rate=0.001)]
    at = open_page("compare", runs=ids(runs), part="Settings")
    table = at.dataframe[1].value.set_index("Name")
    assert list(table.index) == ["g_learning_rate", "xla"]
    assert table.columns.tolist() == [
        "Group",
        f"same ({runs[0].id})",
        f"same ({runs[1].id})",
        "other",
    ]
    assert table.loc["xla"].tolist() == ["Acceleration", "no", "yes", "no"]
    at = checked(at.get_by_key("all").set_value(True).run())
    table = at.dataframe[1].value.set_index("Name")
    assert table[table["Differs"] == "●"].index.tolist() == ["g_learning_rate", "xla"]
    assert table.loc["epochs", "other"] == "3"
    assert table.loc["versions tensorflow", "other"] == "2.21.0"


def test_figures_that_differ_are_listed_below_the_settings(
    make_run: MakeRun, context: Context
) -> None:
    runs = [
        make_run("a"),
        make_run("b", status="running"),
        make_run("c", precision="mixed_bfloat16"),
    ]
    facts = {"peak_gflops": 478.3, "step_gflop": 2.0}
    reports.add_facts(context.engine, run_id=runs[1].id, attempt=1, values=facts)
    at = open_page("compare", runs=ids(runs), part="Settings")
    table = at.dataframe[1].value.set_index("Name")
    peak = "Best measured peak of this machine in this precision, GFLOP/s"
    # one for each precision
    assert table.loc[peak].tolist() == ["Measured", "478.3", "478.3", "193.5"]
    assert table.loc["GFLOP of convolutions and products in one step", "b"] == "2"


def test_equal_settings_are_said_to_be_equal(make_run: MakeRun) -> None:
    runs = [make_run("a"), make_run("b")]
    assert "All settings are equal." in words(open_page("compare", runs=ids(runs), part="Settings"))


def test_axes_scales_and_outliers(make_run: MakeRun) -> None:
    runs = [make_run("a", epochs=3), make_run("b", epochs=3)]
    at = open_page(
        "compare", runs=ids(runs), by="Training seconds", logx="true", log="true", robust="true"
    )
    layout = figures(at)[0]["layout"]
    assert (layout["xaxis"]["title"]["text"], layout["xaxis"]["type"], layout["yaxis"]["type"]) == (
        "Training time (s)",
        "log",
        "log",
    )
    assert len(layout["yaxis"]["range"]) == 2
    assert "Outliers are hidden" in words(at)
    assert (
        len(figures(open_page("compare", runs=ids(runs), by="Time (UTC)"))[0]["data"][0]["x"]) == 12
    )


def test_time_to_a_quality_among_the_costs(make_run: MakeRun) -> None:
    runs = [
        make_run("slow", epochs=4, seconds_per_epoch=4.0, quality_every=1),
        make_run("never", epochs=1, quality_every=1),
        make_run("unevaluated", epochs=4),
    ]
    at = checked(
        open_page("compare", runs=ids(runs), part="Timings")
        .get_by_key("goal")
        .set_value(22.0)
        .run()
    )
    assert "Seconds to FID (classifier) 22" in words(at)
    assert figures(at)[2]["data"][0]["text"] == ["8.0 · baseline", "not reached", "not evaluated"]
    at = checked(at.get_by_key("goal").set_value(12.0).run())
    assert figures(at)[2]["data"][0]["text"] == ["16.0 · baseline", "not reached", "not evaluated"]


def test_all_images_have_one_size(make_run: MakeRun) -> None:
    runs = [make_run("a"), make_run("b")]
    at = open_page("compare", runs=ids(runs), part="Images", size="Large", at="1")
    assert captions(at) == ["After epoch 1", "After epoch 1"]
    assert at.get_by_key("size").value == "Large"


def test_real_images_stand_beside(context: Context, make_run: MakeRun) -> None:
    runs = [make_run("a"), make_run("b", status="running")]
    reports.add_grid(
        context.engine,
        run_id=runs[1].id,
        attempt=1,
        epoch=REAL_IMAGES,
        rows=4,
        columns=4,
        png=png(9),
    )
    at = open_page("compare", runs=ids(runs), part="Images")
    assert captions(at) == ["After epoch 3", "After epoch 3", "Of digits"]
    assert at.get_by_key("at").options == ["0", "1", "2", "3"]


def test_runs_that_a_search_finds(make_run: MakeRun) -> None:
    runs = [
        make_run(f"run {n}", epochs=2, seed=n, batch_size=16 * (1 + n % 2), quality_every=1)
        for n in range(6)
    ]
    at = open_page(
        "compare", runs=ids(runs[:2]), part="Parallel", of="Search", find="batch_size=16"
    )
    assert len(numbers(figures(at)[0]["data"][0]["dimensions"][0]["values"])) == 3
    at = checked(at.get_by_key("find").set_value("nonsense>3").run())
    assert "'nonsense' is neither a setting nor a metric" in words(at)
    assert not figures(at)


def test_numbers_of_different_features_are_kept_apart(make_run: MakeRun) -> None:
    runs = [
        make_run("by encoder", epochs=2, quality_every=1, facts={FACT: f"encoder {'0' * 16}"}),
        make_run("by classifier", epochs=2, quality_every=1),
    ]
    sentence = "FID by encoder features and FID by classifier features cannot be compared."
    at = open_page("compare", runs=ids(runs), part="Quality")
    assert sentence in words(at)
    assert "**FID (encoder)**" in words(at)
    assert len(figures(at)[0]["data"]) == 1
    best = "Best FID (encoder)"
    summary, table = (at.dataframe[place].value.set_index("Run") for place in (0, 1))
    assert summary[best].tolist() == [table.loc["by encoder", best], "–"]
    assert table["Features"].tolist() == ["encoder", "classifier"]
    assert table.loc["by classifier", best] == "–"
    at = open_page("compare", runs=ids(runs), part="Timings")
    assert "FID (encoder)" in words(at)


def test_two_grids_lie_over_each_other(make_run: MakeRun) -> None:
    first, second = make_run("first", epochs=3), make_run("second", epochs=2, grids=False)
    at = open_page("compare", runs=f"{first.id},{second.id}", part="Images", pair="Swipe")
    assert at.selectbox(key="left").value == first.id
    assert at.selectbox(key="left_epoch").options == ["3", "2", "1", "0"]
    assert "second has saved no image grid yet" in words(at)
    at = checked(at.selectbox(key="right").set_value(first.id).run())
    at = checked(at.selectbox(key="right_epoch").set_value(1).run())
    assert "no image grid" not in words(at)
    assert "The difference is absolute" in words(at)


def stored(context: Context, run: Run, **measures: float) -> None:
    assert evaluations.add(
        context.engine,
        run_id=run.id,
        attempt=run.attempt,
        epoch=3,
        seconds=1.0,
        preparation_seconds=0.0,
        training_seconds=6.0,
        measures=measures,
        histogram=[],
        facts={},
    )


@pytest.mark.parametrize("part", ["Quality", "Parallel"])
def test_runs_without_evaluation_are_counted_and_evaluated(
    context: Context, make_run: MakeRun, part: str
) -> None:
    runs = [make_run("a", quality_every=1), make_run("b"), make_run("c")]
    at = open_page("compare", runs=ids(runs), part=part)
    assert "2 of 3 runs have no evaluation." in words(at)
    assert "while training" not in words(at)
    waits = make_run("waits", status="queued", quality_every=2)
    said = words(open_page("compare", runs=ids([*runs, waits]), part=part))
    assert "3 of 4 runs have no evaluation. 1 will be evaluated while training." in said
    at = checked(button(at, "Evaluate them").click().run())
    assert list(requests.newest_evaluations(context.engine)) == [runs[1].id, runs[2].id]
    assert len(at.get("progress")) == 1
    for run in runs[1:]:
        stored(context, run, fid=9.0)
        request = requests.claim(context.engine, requests.EVALUATIONS)
        assert request is not None
        requests.answer(context.engine, request, result=b"")
    at = checked(at.run())
    assert "no evaluation" not in words(at)
    assert "Evaluate them" not in [one.label for one in at.button]


def test_parallel_opens_on_what_the_runs_have(context: Context, make_run: MakeRun) -> None:
    runs = [make_run("a"), make_run("b", batch_size=32), make_run("c", batch_size=16)]
    at = open_page("compare", runs=ids(runs), part="Parallel")
    measure = at.get_by_key("by_measure")
    assert (measure.value, "Best FID" in measure.options) == ("Seconds per epoch", False)
    assert len(figures(at)) == 1
    assert "3 of 3 runs have no evaluation." in words(at)
    stored(context, runs[0], fid=9.0)
    at = checked(at.run())  # one run makes no plot of it, but it can be chosen
    measure = at.get_by_key("by_measure")
    assert (measure.value, measure.options[-1]) == ("Seconds per epoch", "Best FID")
    stored(context, runs[1], fid=8.0)
    at = checked(at.run())
    assert at.get_by_key("by_measure").value == "Best FID"
    at = checked(at.get_by_key("by_measure").set_value("Generator loss").run())
    stored(context, runs[2], fid=7.0)
    assert checked(at.run()).get_by_key("by_measure").value == "Generator loss"


def test_parallel_knows_the_main_metric_of_other_models(make_run: MakeRun) -> None:
    settings = {"model": "pix2pix", "dataset": "vortex_street", "geometry": "64x64"}
    runs = [make_run("a", quality_every=1, **settings), make_run("b", quality_every=1, **settings)]
    at = open_page("compare", runs=ids(runs), part="Parallel")
    assert at.get_by_key("by_measure").value == "Best L1"
    assert len(figures(at)) == 1


def test_quality_is_drawn_by_the_features_of_those_that_have_it(make_run: MakeRun) -> None:
    runs = [
        make_run("not evaluated", facts={"classifier_accuracy": None}, measured=False),
        make_run("a", quality_every=1, facts={FACT: f"encoder {'0' * 16}"}),
        make_run("b", quality_every=1, facts={FACT: f"encoder {'0' * 16}"}),
    ]
    at = open_page("compare", runs=ids(runs), part="Quality")
    assert "Only runs with" not in words(at)
    assert [trace["name"] for trace in figures(at)[0]["data"]] == ["a", "b"]
    assert "1 of 3 runs has no evaluation." in words(at)
