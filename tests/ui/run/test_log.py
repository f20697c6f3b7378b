"""The tab Log: the end of the log, search, following a live run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.app.run.log import file as log_file
from ganboard.db.models import Artifact, Run
from ganboard.db.placement import artifacts
from ganboard.db.runs import checkpoint_reports
from ganboard.gan import files
from ganboard.worker.artifacts.store import open_store, run_key
from ganboard.worker.context import Context
from tests.ui.pages import checked, open_page, words

MakeRun = Callable[..., Run]


def write(context: Context, run: Run, content: bytes) -> None:
    path = context.settings.log_path(run.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(content)


def shown(at: AppTest) -> str:
    """The text in the tab; the other block of code is the configuration."""
    return str(at.code[-1].value)


def numbered(count: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(1, count + 1))


def test_the_end_of_the_log_as_people_read_it(context: Context, make_run: MakeRun) -> None:
    run = make_run("logs", status="running")
    write(context, run, numbered(2000) + b"1/9 \r9/9 \x1b[32mdone\x1b[0m\r\n<b>\xff</b>\n")
    at = open_page("run", run=run.id, view="Log")
    lines = shown(at).splitlines()
    assert lines[-2:] == ["9/9 done", "<b>\ufffd</b>"]
    assert len(lines) == log_file.LINES
    assert "The last 500 lines; search and download have all" in words(at)


def test_notices_of_libraries_are_left_out(context: Context, make_run: MakeRun) -> None:
    run = make_run("logs", status="finished")
    notice = (
        b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        b"I0000 00:00:1795398321.424839   14735 port.cc:153] oneDNN custom operations are on.\n"
    )
    error = b"E0000 00:00:1795398321.424839   14735 cuda.cc:1] no device\n"
    write(context, run, b"--- attempt 1 ---\n" + notice + b"first\n" + error + notice + b"last\n")
    at = open_page("run", run=run.id, view="Log")
    assert shown(at) == f"--- attempt 1 ---\nfirst\n{error.decode()}last"
    assert "All 4 lines · 4 notices of libraries hidden" in words(at)
    assert not [box for box in at.toggle if box.key == "follow"]


def test_search_numbers_the_lines_that_it_finds(context: Context, make_run: MakeRun) -> None:
    run = make_run("logs", status="running")
    write(context, run, numbered(1200))
    at = open_page("run", run=run.id, view="Log", find="LINE 119")
    assert shown(at).splitlines() == [
        " 119  line 119",
        *(f"{number}  line {number}" for number in range(1190, 1200)),
    ]
    assert "11 lines found, with line numbers." in words(at)
    write(context, run, b"another line 119\n")
    at = checked(at.run())
    assert shown(at).splitlines()[-1] == "1201  another line 119"
    at.text_input(key="find").set_value("absent")
    assert "No line contains this text." in words(checked(at.run()))
    at.text_input(key="find").set_value("line")
    assert "1,201 lines found, with line numbers; the last 500 are shown." in words(
        checked(at.run())
    )


def test_the_log_stands_still_while_nobody_follows(context: Context, make_run: MakeRun) -> None:
    run = make_run("logs", status="running")
    write(context, run, b"first\n")
    at = open_page("run", run=run.id, view="Log")
    at.toggle(key="follow").set_value(False)
    at = checked(at.run())
    write(context, run, b"second\n")
    at = checked(at.run())
    assert shown(at) == "first"
    assert "not following: 7 B are newer" in words(at)
    at.toggle(key="follow").set_value(True)
    assert shown(checked(at.run())) == "first\nsecond"


def test_a_run_without_a_log(make_run: MakeRun) -> None:
    at = open_page("run", run=make_run("none").id, view="Log")
    assert "The log is empty." in words(at)


def stored(context: Context, run: Run, machine: str, text: str) -> None:
    """What another machine has logged, in the store."""
    copy, name = context.settings.state / machine, artifacts.log_name(machine)
    copy.write_text(text)
    size, digest = files.measure(copy)
    store = open_store(context.settings)
    assert store is not None
    store.put(copy, run_key(run.id, name))
    artifacts.add(context.engine, Artifact(run_id=run.id, name=name, digest=digest, size=size))


@pytest.fixture
def with_store(context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The pages of this installation with a store."""
    (tmp_path / "shared").mkdir()
    url = f"file://{tmp_path}/shared/ganboard"
    monkeypatch.setenv("GANBOARD_STORE", url)
    return replace(context, settings=context.settings.model_copy(update={"store": url}))


def test_logs_of_other_machines_are_fetched(with_store: Context, make_run: MakeRun) -> None:
    run = make_run("logs", status="failed")
    stored(with_store, run, "box-1", "it began\n")
    at = open_page("run", run=run.id, view="Log")
    assert shown(at) == "it began"
    stored(with_store, run, "box-2", "it failed\n")
    at = open_page("run", run=run.id, view="Log")
    assert shown(at) == "it failed"
    [chooser] = [box for box in at.selectbox if box.label == "Machine"]
    chooser.select_index(1).run()
    assert shown(at) == "it began"
    store = open_store(with_store.settings)
    assert store is not None
    store.remove("runs")
    (with_store.settings.run_dir(run.id) / "logs" / "box-2.log").unlink()
    at = open_page("run", run=run.id, view="Log")
    assert f"runs/{run.id}/logs/box-2.log is not in the store" in words(at)


def test_a_log_that_is_not_stored_is_said_to_be_elsewhere(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("logs", status="running")
    checkpoint_reports.add_checkpoint(
        context.engine, run_id=run.id, attempt=1, step=12, epoch=3, digest="d", size=5, keep=1,
        machine="box-1",
    )  # fmt: skip
    at = open_page("run", run=run.id, view="Log")
    assert f"The log of run {run.id} is on machine box-1. Read it there." in words(at)
