"""The comparison of runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from app.theme.palette import run_colours
from db import commands, reports
from db.models import Run
from tests.factories import HOSTILE_NAMES
from tests.ui.pages import checked, open_page, words
from tests.ui.pictures import captions, figures, numbers
from worker.context import Context

MakeRun = Callable[..., Run]


def ids(runs: list[Run]) -> str:
    return ",".join(run.id for run in runs)


@pytest.mark.usefixtures("context")
def test_without_runs() -> None:
    at = open_page("compare")
    assert "There are fewer than two runs to compare." in words(at)
    assert not figures(at)


def test_one_run_is_not_enough(make_run: MakeRun) -> None:
    runs = [make_run("one"), make_run("two")]
    at = open_page("compare", runs=runs[0].id)
    assert "Choose at least two runs." in words(at)
    assert at.multiselect[0].value == [runs[0].id]


def test_unknown_runs_are_left_out_with_a_word(make_run: MakeRun) -> None:
    runs = [make_run("one"), make_run("two")]
    at = open_page("compare", runs=f"{runs[0].id},gone,{runs[1].id},<script>")
    assert "Left out, because no such run exists: gone." in words(at)
    assert at.dataframe[0].value["Run"].tolist() == ["one", "two"]


def test_summary_tells_state_cost_and_losses(make_run: MakeRun) -> None:
    runs = [make_run("slow", seconds_per_epoch=4.0), make_run("fast", seconds_per_epoch=2.0), make_run("waits", status="queued", epochs=0)]
    table = open_page("compare", runs=ids(runs)).dataframe[0].value.set_index("Run")
    columns = ["Status", "Epochs", "Training", "Median per epoch", "Images/s", "Baseline"]
    assert table.loc["slow", columns].tolist() == ["Finished", "3 of 3", "12 s", "4.0 s", "32", "●"]
    assert table.loc["fast", columns].tolist() == ["Finished", "3 of 3", "6.0 s", "2.0 s", "64", ""]
    assert table.loc["waits", columns[2:]].tolist() == ["–", "–", "–", ""]
    assert table.loc["slow", "Generator loss"] == f"{runs[0].g_loss:.4f}"


def test_losses_by_epoch_and_step_in_the_colours_of_the_runs(make_run: MakeRun) -> None:
    runs = [make_run("a", epochs=2), make_run("b", epochs=5)]
    colours = run_colours([run.id for run in runs])
    at = open_page("compare", runs=ids(runs))
    g, d = figures(at)
    assert [(trace["uid"], trace["line"]["color"]) for trace in g["data"]] == list(colours.items())
    assert numbers(d["data"][1]["x"]) == [1, 2, 3, 4, 5]
    at = open_page("compare", runs=ids(runs), by="Step", smooth="0.5")
    assert numbers(figures(at)[0]["data"][-1]["x"]) == list(range(1, 21))
    assert len(figures(at)[0]["data"]) == 4


def test_one_slider_for_all_images(make_run: MakeRun) -> None:
    runs = [make_run("short", epochs=2), make_run("long", epochs=6), make_run("none", status="queued")]
    at = open_page("compare", runs=ids(runs), part="Images")
    assert captions(at) == ["After epoch 2, its last before 6", "After epoch 6"]
    assert "No grid up to this epoch." in words(at)
    at = checked(at.get_by_key("at").set_value(1).run())
    assert captions(at) == ["After epoch 1", "After epoch 1"]


def test_timings_against_a_baseline_that_can_be_changed(make_run: MakeRun) -> None:
    runs = [make_run("slow", seconds_per_epoch=4.0), make_run("fast", seconds_per_epoch=2.0)]
    at = open_page("compare", runs=ids(runs), part="Timings")
    seconds, rate, step, gflops, memory, parts = figures(at)
    assert seconds["data"][0]["text"] == ["4.00 · baseline", "2.00 · 0.50×"]
    assert rate["data"][0]["text"] == ["32 · baseline", "64 · 2.00×"]
    assert step["data"][0]["text"] == ["1,000.0 · baseline", "500.0 · 0.50×"]  # milliseconds
    assert gflops["data"][0]["text"] == ["120.0 · baseline", "120.0 · 1.00×"]
    assert memory["data"][0]["text"] == ["1,240 · baseline", "1,240 · 1.00×"]
    assert [trace["uid"] for trace in parts["data"]] == ["compute_seconds", "reduce_seconds", "input_seconds", "host_seconds"]
    assert [numbers(trace["x"]) for trace in parts["data"]] == [pytest.approx([share] * 2) for share in (90, 0, 2, 8)]
    at = checked(at.get_by_key("base").set_value(runs[1].id).run())
    assert figures(at)[0]["data"][0]["text"] == ["4.00 · 2.00×", "2.00 · baseline"]


def test_timings_of_runs_that_were_not_measured(make_run: MakeRun) -> None:
    runs = [make_run("old", measured=False), make_run("older", measured=False)]
    assert len(figures(open_page("compare", runs=ids(runs), part="Timings"))) == 2
    runs.append(make_run("new", replicas=2))
    *_, reduce, _, parts = figures(open_page("compare", runs=ids(runs), part="Timings"))
    assert reduce["data"][0]["text"] == ["", "", "10.00"]
    np.testing.assert_array_equal(np.isnan(numbers(parts["data"][0]["x"])), [True, True, False])


def test_quality_over_seconds_and_over_epochs(make_run: MakeRun) -> None:
    runs = [
        make_run("slow", epochs=4, seconds_per_epoch=4.0, quality_every=1),
        make_run("fast", epochs=4, seconds_per_epoch=1.0, quality_every=2),
        make_run("never judged", epochs=4),
    ]
    at = open_page("compare", runs=ids(runs), part="Quality")
    by_seconds, by_epoch = figures(at)
    assert [trace["line"]["color"] for trace in by_epoch["data"]] == list(run_colours([run.id for run in runs]).values())
    assert [numbers(trace["x"]) for trace in by_seconds["data"]] == [[4, 8, 12, 16], [2, 4], []]
    assert [numbers(trace["x"]) for trace in by_epoch["data"]] == [[1, 2, 3, 4], [2, 4], []]
    at = checked(at.get_by_key("fid").set_value(22.0).run())
    table = at.dataframe[1].value.set_index("Run")
    columns = ["Best FID", "After epoch", "After", "Time to FID 22", "Ratio", "Baseline"]
    assert table.loc["slow", columns].tolist() == ["12.00", "4", "16 s", "8.0 s", "1.00×", "●"]
    assert table.loc["fast", columns].tolist() == ["12.00", "4", "4.0 s", "2.0 s", "0.25×", ""]
    assert table.loc["never judged", columns].tolist() == ["–", "–", "–", "–", "–", ""]
    at = checked(at.get_by_key("fid").set_value(1.0).run())
    assert at.dataframe[1].value["Time to FID 1"].tolist() == ["not reached", "not reached", "–"]
    assert at.dataframe[1].value["Ratio"].tolist() == ["–"] * 3
    at = checked(at.get_by_key("measure").set_value("recall").run())
    assert numbers(figures(at)[1]["data"][0]["y"]) == pytest.approx([0.51, 0.52, 0.53, 0.54])
    assert "Recall: Share of real images" in words(at)


def test_quality_of_runs_that_nobody_judged(make_run: MakeRun) -> None:
    runs = [make_run("a"), make_run("b", status="queued")]
    at = open_page("compare", runs=ids(runs), part="Quality")
    assert "None of these runs has been judged" in words(at)
    assert not figures(at)


def test_quality_of_eight_runs(make_run: MakeRun) -> None:
    runs = [make_run(f"run {n}", epochs=2, quality_every=1, seed=n) for n in range(8)]
    at = open_page("compare", runs=ids(runs), part="Quality")
    assert len({trace["line"]["color"] for trace in figures(at)[0]["data"]}) == 8
    assert at.dataframe[1].value["Run"].tolist() == [f"run {n}" for n in range(8)]


def test_only_settings_that_differ(make_run: MakeRun) -> None:
    runs = [make_run("same"), make_run("same", xla=True), make_run("other", g_learning_rate=0.001)]
    at = open_page("compare", runs=ids(runs), part="Settings")
    table = at.dataframe[1].value.set_index("Setting")
    assert list(table.index) == ["g_learning_rate", "xla"]
    assert table.columns.tolist() == [f"same ({runs[0].id})", f"same ({runs[1].id})", "other"]
    assert table.loc["xla"].tolist() == ["no", "yes", "no"]


def test_equal_settings_are_said_to_be_equal(make_run: MakeRun) -> None:
    runs = [make_run("a"), make_run("b")]
    assert "These runs have the same settings." in words(open_page("compare", runs=ids(runs), part="Settings"))


def test_adding_and_removing_runs_changes_the_address(make_run: MakeRun) -> None:
    runs = [make_run(name) for name in "abc"]
    at = open_page("compare", runs=ids(runs[:2]))
    at = checked(at.multiselect[0].select(runs[2].id).run())
    assert at.query_params["runs"] in (ids(runs), [ids(runs)])
    assert len(at.dataframe[0].value) == 3
    at = checked(at.multiselect[0].unselect(runs[0].id).run())
    assert at.dataframe[0].value["Run"].tolist() == ["b", "c"]
    assert at.get_by_key("base").value == runs[1].id


def test_at_most_eight(make_run: MakeRun) -> None:
    runs = [make_run(f"run {n}", epochs=1) for n in range(9)]
    at = open_page("compare", runs=ids(runs))
    assert at.dataframe[0].value["Run"].tolist() == [f"run {n}" for n in range(8)]
    assert len({trace["line"]["color"] for trace in figures(at)[0]["data"]}) == 8


def test_running_run_with_losses_that_are_not_finite(context: Context, make_run: MakeRun) -> None:
    runs = [make_run("well", epochs=1), make_run("diverges", status="running", epochs=0)]
    broken = np.array([1.0, np.nan, np.inf, 2.0], np.float32)
    reports.append_steps(context.engine, run_id=runs[1].id, attempt=1, epoch=1, first=0, g_losses=broken, d_losses=broken)
    at = open_page("compare", runs=ids(runs), by="Step")
    assert np.isnan(numbers(figures(at)[0]["data"][1]["y"])).tolist() == [False, True, True, False]
    commands.delete_run(context.engine, run_id=runs[0].id)
    assert "Left out, because no such run exists" in words(checked(at.run()))


def test_hostile_names_are_text(make_run: MakeRun) -> None:
    runs = [make_run(name, epochs=2, quality_every=1) for name in HOSTILE_NAMES]
    at = open_page("compare", runs=ids(runs))
    names = [trace["name"] for trace in figures(at)[0]["data"]]
    assert not any("<" in name or ">" in name for name in names)
    assert names[0].startswith("&lt;script&gt;")
    for part in ("Images", "Quality", "Timings", "Settings"):
        assert "Error" not in words(open_page("compare", runs=ids(runs), part=part))
