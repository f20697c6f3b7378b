"""The comparison of runs: who is compared, the verdict, the address, the files. Its tabs:
test_compare_tabs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sqlalchemy import update
from sqlmodel import col

from ganboard.app.compare import files
from ganboard.app.compare.comparison import Compared
from ganboard.app.compare.losses import frames_of
from ganboard.db.engine import writing
from ganboard.db.models import Run
from ganboard.db.runs import commands, reports
from ganboard.worker.context import Context
from tests.factories import HOSTILE_NAMES
from tests.ui.pages import checked, open_page, words
from tests.ui.pictures import figures, numbers

MakeRun = Callable[..., Run]


def ids(runs: list[Run]) -> str:
    return ",".join(run.id for run in runs)


@pytest.mark.usefixtures("context")
def test_without_runs() -> None:
    at = open_page("compare")
    assert "There are not enough runs to compare: at least two are needed." in words(at)
    assert not figures(at)


def test_one_run_is_not_enough(make_run: MakeRun) -> None:
    runs = [make_run("one"), make_run("two")]
    at = open_page("compare", runs=runs[0].id)
    assert "Choose at least two runs." in words(at)
    assert at.multiselect[0].value == [runs[0].id]


def test_unknown_runs_are_left_out_with_a_word(make_run: MakeRun) -> None:
    runs = [make_run("one"), make_run("two")]
    at = open_page("compare", runs=f"{runs[0].id},gone,{runs[1].id},<script>")
    assert "Left out (not found): gone." in words(at)
    assert not any("<script>" in caption.value for caption in at.caption)
    assert at.dataframe[0].value["Run"].tolist() == ["one", "two"]


def test_summary_shows_state_cost_and_losses(make_run: MakeRun) -> None:
    runs = [
        make_run("slow", seconds_per_epoch=4.0),
        make_run("fast", seconds_per_epoch=2.0),
        make_run("waits", status="queued", epochs=0),
    ]
    table = open_page("compare", runs=ids(runs)).dataframe[0].value.set_index("Run")
    columns = ["Status", "Epochs", "Training", "Median per epoch", "Images/s", "Baseline"]
    assert table.loc["slow", columns].tolist() == ["Finished", "3 of 3", "12 s", "4.0 s", "32", "●"]
    assert table.loc["fast", columns].tolist() == ["Finished", "3 of 3", "6.0 s", "2.0 s", "64", ""]
    assert table.loc["waits", columns[2:]].tolist() == ["–", "–", "–", ""]
    assert table.loc["slow", "Generator loss"] == f"{runs[0].g_loss:.4f}"


def test_adding_and_removing_runs_changes_the_address(make_run: MakeRun) -> None:
    runs = [make_run(name) for name in "abc"]
    at = open_page("compare", runs=ids(runs[:2]))
    at = checked(at.multiselect[0].select(runs[2].id).run())
    assert at.query_params["runs"] in (ids(runs), [ids(runs)])
    assert len(at.dataframe[0].value) == 3
    at = checked(at.multiselect[0].unselect(runs[0].id).run())
    assert at.dataframe[0].value["Run"].tolist() == ["b", "c"]
    assert at.get_by_key("base").value == runs[1].id


def test_more_runs_than_fit_side_by_side(make_run: MakeRun) -> None:
    runs = [make_run(f"run {n}", epochs=1, seed=n, quality_every=1) for n in range(9)]
    at = open_page("compare", runs=ids(runs))
    assert len(at.dataframe[0].value) == 9
    assert len(figures(at)[0]["data"]) == 9
    assert len({trace["line"]["color"] for trace in figures(at)[0]["data"]}) == 8
    at = open_page("compare", runs=ids(runs), part="Images", base="run 8")
    assert "This tab shows 8 of the 9 runs" in words(at)
    assert "**run 8**" in words(at)
    assert "**run 7**" not in words(at)
    for part, shown in (("Quality", 9), ("Timings", 8)):
        at = open_page("compare", runs=ids(runs), part=part)
        (first, *_) = figures(at)
        assert len(first["data"] if part == "Quality" else first["data"][0]["text"]) == shown


def test_at_most_fifty(make_run: MakeRun) -> None:
    runs = [make_run(f"run {n}", epochs=1) for n in range(2)]
    beyond = [f"x{n}" for n in range(5000)]
    at = open_page("compare", runs=",".join([*(run.id for run in runs), *beyond]))
    assert "At most 50 runs can be compared; 4,952 more in the address" in words(at)
    assert len(at.dataframe[0].value) == 2


def test_running_run_with_losses_that_are_not_finite(context: Context, make_run: MakeRun) -> None:
    runs = [make_run("well", epochs=1), make_run("diverges", status="running", epochs=0)]
    broken = np.array([1.0, np.nan, np.inf, 2.0], np.float32)
    reports.append_steps(
        context.engine,
        run_id=runs[1].id,
        attempt=1,
        epoch=1,
        first=0,
        g_losses=broken,
        d_losses=broken,
    )
    at = open_page("compare", runs=ids(runs), by="Step")
    assert np.isnan(numbers(figures(at)[0]["data"][1]["y"])).tolist() == [False, True, True, False]
    commands.delete_run(context.engine, run_id=runs[0].id)
    assert "Left out (not found)" in words(checked(at.run()))


@pytest.mark.thorough
def test_hostile_names_are_text(make_run: MakeRun) -> None:
    runs = [make_run(name, epochs=2, quality_every=1) for name in HOSTILE_NAMES]
    at = open_page("compare", runs=ids(runs))
    names = [trace["name"] for trace in figures(at)[0]["data"]]
    assert not any("<" in name or ">" in name for name in names)
    assert names[0].startswith("&lt;script&gt;")
    for part in ("Images", "Quality", "Timings", "Settings", "Parallel"):
        assert "Error" not in words(open_page("compare", runs=ids(runs), part=part))


def test_the_verdict_stands_above_all(make_run: MakeRun) -> None:
    runs = [
        make_run("slow", epochs=6, seconds_per_epoch=3.0),
        make_run("fast", epochs=6, seconds_per_epoch=2.0, precision="mixed_bfloat16"),
    ]
    at = open_page("compare", runs=ids(runs))
    assert "mixed_bfloat16 is 1.50× faster than float32." in words(at)
    assert "Quality was not evaluated: evaluate the runs in the tab Quality." in words(at)
    at = checked(at.get_by_key("base").set_value(runs[1].id).run())
    assert "float32 is 1.50× slower than mixed_bfloat16." in words(at)


def test_the_verdict_on_quality(make_run: MakeRun) -> None:
    runs = [
        make_run("a", epochs=6, quality_every=1),
        make_run("b", epochs=6, quality_every=1, seconds_per_epoch=1.0, xla=True),
    ]
    said = words(open_page("compare", runs=ids(runs)))
    assert (
        "xla on is 2.00× faster than xla off at equal quality: classifier-FID 8.67 against 8.67"
        " after epoch 6" in said
    )


def test_many_runs_get_a_headline_and_a_sentence_each(make_run: MakeRun) -> None:
    runs = [
        make_run(f"run {n}", epochs=4, seconds_per_epoch=4.0 / (n + 1), seed=n) for n in range(4)
    ]
    said = words(open_page("compare", runs=ids(runs)))
    assert "Fastest is seed 3: 4.00× the baseline “run 0”." in said
    assert "- seed 1 is 2.00× faster than seed 0.\n- seed 2" in said


def test_runs_of_different_data_and_losses(make_run: MakeRun) -> None:
    runs = [
        make_run("a", epochs=4, quality_every=1),
        make_run("b", epochs=4, quality_every=1, dataset="mnist", loss="hinge"),
    ]
    for part in ("Losses", "Images", "Latent wall", "Quality", "Timings", "Settings", "Parallel"):
        said = words(open_page("compare", runs=ids(runs), part=part))
        assert (
            "The data sets differ (mnist and digits): quality and losses cannot be compared"
        ) in said
        assert "The loss functions differ: loss curves cannot be compared." in said
    assert "These runs use different data sets" in words(
        open_page("compare", runs=ids(runs), part="Quality")
    )


def test_nothing_but_runs_without_epochs(make_run: MakeRun) -> None:
    runs = [
        make_run("a", status="queued"),
        make_run("b", status="starting"),
        make_run("c", status="failed", epochs=0, grids=False),
    ]
    for part, sentence in {
        "Losses": "None of these runs has losses yet.",
        "Images": "None of these runs has saved an image grid yet.",
        "Quality": "3 of 3 runs have no evaluation.",
        "Timings": "None of these runs has finished an epoch yet.",
        "Parallel": "0 runs of 3 with this metric",
    }.items():
        said = words(open_page("compare", runs=ids(runs), part=part))
        assert sentence in said
        assert "The baseline “a” has not finished an epoch yet" in said


def test_the_rest_of_a_sweep_can_be_added(context: Context, make_run: MakeRun) -> None:
    runs = [make_run(f"run {n}", epochs=1, seed=n, quality_every=1) for n in range(10)]
    in_sweep(context, runs, "grid1")
    at = open_page("compare", runs=ids(runs[3:5]))
    at = checked(at.get_by_key("siblings").click().run())
    assert at.query_params["runs"] in (
        ids([*runs[3:5], *runs[:3], *runs[5:]]),
        [ids([*runs[3:5], *runs[:3], *runs[5:]])],
    )
    assert len(at.dataframe[0].value) == 10
    assert not [button for button in at.button if button.key == "siblings"]


def test_a_sweep_by_its_address(context: Context, make_run: MakeRun) -> None:
    runs = [
        make_run(f"run {n}", epochs=2, seed=n, batch_size=16 * (1 + n % 2), quality_every=1)
        for n in range(10)
    ]
    in_sweep(context, runs, "grid1")
    at = open_page("compare", sweep="grid1", part="Parallel")
    assert at.dataframe[0].value["Run"].tolist() == [f"run {n}" for n in range(10)]
    (plot,) = figures(at)
    assert [axis["label"] for axis in plot["data"][0]["dimensions"]] == [
        "batch_size", "seed", "Seconds per epoch", "Images per second", "Best FID",
    ]  # fmt: skip
    assert len(numbers(plot["data"][0]["dimensions"][0]["values"])) == 10
    at = checked(at.get_by_key("by_measure").set_value("Images per second").run())
    at = checked(at.get_by_key("best").click().run())
    assert len(at.dataframe[0].value) == 8
    assert "There is no sweep gone" in words(open_page("compare", sweep="gone"))


def test_forged_values_in_the_address(make_run: MakeRun) -> None:
    runs = [make_run("a", quality_every=1), make_run("b", quality_every=1)]
    forged = {
        "by": "<x>",
        "smooth": "nan",
        "base": "gone",
        "at": "99999",
        "size": "Huge",
        "measure": "'; DROP",
        "over": "-1",
    }
    forged |= {
        "goal": "-5",
        "of": "Everything",
        "by_measure": "x",
        "find": "a" * 5000,
        "all": "maybe",
        "sweep": "../../etc",
        "group": "x",
        "band": "",
        "diff": "2",
    }
    for part in (
        "Losses",
        "Images",
        "Latent wall",
        "Quality",
        "Timings",
        "Settings",
        "Parallel",
        "Nowhere",
    ):
        at = open_page("compare", runs=ids(runs), part=part, **forged)
        assert "defect" not in words(at)
        assert len(at.dataframe[0].value) == 2


def test_files(context: Context, make_run: MakeRun) -> None:
    runs = [make_run("=1+1", epochs=2, quality_every=1), make_run("waits", status="queued")]
    compared = Compared(runs, runs[0])
    summary = files.summary_frame(context.engine, compared).set_index("run_id")
    assert summary.loc[
        runs[0].id, ["name", "finished_epochs", "seconds_per_epoch", "precision"]
    ].tolist() == ["'=1+1", 2, 2.0, "float32"]
    assert np.isnan(summary.loc[runs[1].id, "best_fid"])
    for by_epoch, rows in ((True, 2), (False, 8)):
        curves = files.curves_frame(
            compared, frames_of(context.engine, compared, by_epoch=by_epoch)
        )
        assert curves.columns[:2].tolist() == ["run_id", "name"]
        assert (len(curves), set(curves["run_id"])) == (rows, {runs[0].id})
        assert {"step", "epoch", "training_seconds", "time", "g_loss", "d_loss"} <= set(curves)
    nothing = Compared(runs[1:], runs[1])
    assert files.curves_frame(nothing, frames_of(context.engine, nothing, by_epoch=True)).empty


def in_sweep(context: Context, runs: list[Run], sweep: str) -> None:
    """As if these runs had been launched as one grid."""
    with writing(context.engine) as session:
        session.execute(
            update(Run).where(col(Run.id).in_([run.id for run in runs])).values(sweep=sweep)
        )


def test_images_per_second_and_time_left_are_the_same_everywhere(
    context: Context, make_run: MakeRun
) -> None:
    # 4 * 32 images in 2 s
    run = make_run("trains", status="running", epochs=3, steps_per_epoch=4, seconds_per_epoch=2.0)
    timed = {
        "steps": 4,
        "images": 128,
        "seconds": 40.0,
        "compile_seconds": 0.0,
        "g_loss": 1.0,
        "d_loss": 1.0,
    }
    paths = {"g_path": (0.0, 0.0), "d_path": (0.0, 0.0)}
    # a slow one
    reports.finish_epoch(context.engine, run_id=run.id, attempt=1, epoch=4, **timed, **paths)
    losses = np.ones(1, np.float32)
    own = {"run_id": run.id, "attempt": 1}
    reports.append_steps(
        context.engine,
        **own,
        epoch=5,
        first=0,
        g_losses=losses,
        d_losses=losses,
        images_per_second=3.0,
    )
    listed, shown = open_page("runs"), open_page("run", run=run.id)
    compared = open_page("compare", runs=f"{run.id},{make_run('other').id}")
    assert listed.dataframe[0].value.set_index("Id").loc[run.id, "Images/s"] == 64
    assert {metric.label: metric.value for metric in listed.metric}["Images/s"] == "64"
    assert {metric.label: metric.value for metric in shown.metric}["Images per second"] == "64"
    assert compared.dataframe[0].value.set_index("Run").loc["trains", "Images/s"] == "64"
    left = "about 18 s left"  # 35 steps of 32 images
    assert left in listed.get("progress")[0].proto.text
    assert left in shown.get("progress")[0].proto.text


def test_runs_whose_names_begin_alike_can_be_chosen(make_run: MakeRun) -> None:
    name = "starter rates, G rate 0.00219927, D rate 0.000411105"
    runs = [make_run(f"{name}, batch {batch}") for batch in (16, 32, 64)]
    at = checked(open_page("compare", runs=ids(runs), part="Images", pair="Swipe").run())
    assert at.get_by_key("base").value == runs[0].id
    for key in ("base", "left", "right"):
        for run in runs[::-1]:
            at = checked(at.get_by_key(key).set_value(run.id).run())
            assert at.get_by_key(key).value == run.id
    at = checked(at.multiselect[0].unselect(runs[0].id).run())
    assert {at.get_by_key(key).value for key in ("base", "left", "right")} <= {
        run.id for run in runs[1:]
    }
