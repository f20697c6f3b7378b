"""The tabs that show what is recorded of a run: samples, log, events, settings, downloads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ganboard.app.run import records
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
    for name in ("export.zip", "epochs.csv", "losses.csv", "quality.csv", "events.csv", "model"):
        assert f"[{name}](/api/runs/{run.id}/{name})" in listed
    assert f"[run.json](/api/runs/{run.id})" in listed


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


def test_log_is_the_end_of_the_file(context: Context, make_run: MakeRun) -> None:
    run = make_run("logs", status="running")
    path = context.settings.log_path(run.id)
    path.parent.mkdir(parents=True)
    path.write_bytes(
        b"\n".join(b"line %d" % n for n in range(500))
        + b"\n1/9 \r9/9 \x1b[32mdone\x1b[0m\r\n<b>\xff</b>\n"
    )
    newest, shown = (code.value for code in open_page("run", run=run.id, view="Log").code[1:])
    assert shown.endswith(newest)
    assert len(newest.splitlines()) == records.NEWEST_LINES
    assert shown.splitlines()[-2:] == ["9/9 done", "<b>\ufffd</b>"]
    assert len(shown.splitlines()) == records.LOG_LINES


def test_notices_of_libraries_are_folded_away(context: Context, make_run: MakeRun) -> None:
    run = make_run("logs", status="finished")
    path = context.settings.log_path(run.id)
    path.parent.mkdir(parents=True)
    notice = (
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        "I0000 00:00:1795398321.424839   14735 port.cc:153] oneDNN custom operations are on.\n"
    )
    error = "E0000 00:00:1795398321.424839   14735 cuda.cc:1] no device\n"
    path.write_text(f"--- attempt 1 ---\n{notice}first\n{error}{notice}last\n")
    at = open_page("run", run=run.id, view="Log")
    newest, everything = (code.value for code in at.code[1:])
    assert newest == f"--- attempt 1 ---\nfirst\n{error}last"
    assert everything.count("oneDNN") == 2
    assert at.expander[-1].label == "The last 8 lines, 4 notices of libraries included"


def test_tail_of_a_huge_or_missing_log(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    assert records.tail(path) is None
    path.write_bytes(b"x" * 10_000_000)
    assert len(records.tail(path) or "") == 64 * 1024


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
    assert json.loads(at.code[0].value) == run.config


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
