"""The tab Log: the end of the log, search, following a live run."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from ganboard.app.run.log import file as log_file
from ganboard.db.models import Run
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
