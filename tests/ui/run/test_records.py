"""The tabs that show what is recorded of a run: samples, events, settings, downloads."""

from __future__ import annotations

import json
from collections.abc import Callable

from ganboard.app.run.recorded import records
from ganboard.db.models import Run, SystemSample
from ganboard.db.runs import reports
from ganboard.gan.config import parse
from ganboard.worker.context import Context
from tests.attempt import own
from tests.ui.pages import open_page
from tests.ui.pictures import figures, numbers

MakeRun = Callable[..., Run]


def test_everything_can_be_downloaded(make_run: MakeRun) -> None:
    run = make_run("data")
    listed = next(
        element.value
        for element in open_page("run", run=run.id).markdown
        if "export.zip" in element.value
    )
    for name in (
        "export.zip",
        "epochs.csv",
        "losses.csv",
        "quality.csv",
        "events.csv",
        "train.log",
        "model",
    ):
        assert f"[{name}](/api/runs/{run.id}/{name})" in listed
    assert f"[run.json](/api/runs/{run.id})" in listed


def test_the_networks_layer_by_layer(make_run: MakeRun) -> None:
    rows = [["dense", "Dense", "12544", 1254400, 1254400], ["norm", "BatchNorm", "12544", 4, 2]]
    run = make_run("networks", facts={"generator_summary": rows})
    at = open_page("run", run=run.id, view="Config")
    (label,) = [one.label for one in at.expander if "layers" in one.label]
    assert label == "Generator: 2 layers, 1,254,404 parameters, 2 of them not trained"
    table = next(one.value for one in at.dataframe if "Layer" in one.value)
    assert table["Layer"].tolist() == ["dense", "norm"]
    assert table["Parameters"].sum() == 1_254_404


def test_system_samples(context: Context, make_run: MakeRun) -> None:
    run = make_run("samples", status="running")
    for percent in (10.0, 90.0):
        reports.add_sample(
            context.engine,
            SystemSample(**own(run), cpu_percent=percent, rss_bytes=2.0**30, memory_percent=20.0),
        )
    load, memory = figures(open_page("run", run=run.id, view="System"))
    assert numbers(load["data"][0]["y"]) == [10, 90]
    assert numbers(memory["data"][0]["y"]) == [1, 1]


def test_config_marks_what_differs_from_the_default(make_run: MakeRun) -> None:
    run = make_run("settings", precision="mixed_bfloat16")
    at = open_page("run", run=run.id, view="Config")
    table = at.dataframe[0].value.set_index("Setting")
    assert set(table.index) == set(parse({}).model_dump())
    assert table.loc["precision", ["Changed", "Value", "Default"]].tolist() == [
        "●",
        "mixed_bfloat16",
        "float32",
    ]
    assert table.loc["xla", ["Changed", "Value"]].tolist() == ["", "no"]
    hardware = dict(at.dataframe[1].value.itertuples(index=False, name=None))
    assert hardware["versions tensorflow"] == "2.21.0"
    [stored] = [code.value for code in at.code if code.language == "json"]
    assert json.loads(stored) == run.config


def test_a_setting_of_another_version_is_shown() -> None:
    table = records.settings_frame({"mystery": [1, 2]}).set_index("Setting")
    assert table.loc["mystery", ["Group", "Value"]].tolist() == ["Unknown", "[1, 2]"]


def test_events_newest_first(make_run: MakeRun) -> None:
    table = (
        open_page(
            "run", run=make_run("events", status="failed", error="It broke.").id, view="Events"
        )
        .dataframe[0]
        .value
    )
    assert table.iloc[0][["Level", "Event"]].tolist() == ["Error", "It broke."]
    assert table.iloc[-1]["Event"] == "Submitted."
