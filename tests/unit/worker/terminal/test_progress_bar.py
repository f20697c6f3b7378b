"""Progress of an operation on stderr."""

from __future__ import annotations

import sys

import pytest

from ganboard.worker.terminal import progress_bar
from ganboard.worker.terminal.progress_bar import ProgressBar


@pytest.fixture
def _every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "LINE_SECONDS", 0.0)


@pytest.mark.usefixtures("_every_line")
def test_lines_on_stderr_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("Flow", "steps") as progress:
        progress.update(500, 2000)
    with ProgressBar("Backing up", "bytes") as progress:
        progress.update(1_000_000, 4_000_000)
        progress.advance(1_000_000)
    assert capsys.readouterr() == (
        "",
        "Flow: 500 of 2,000 steps, 0 s left\n"
        "Backing up: 1 of about 4 MB, 0 s left\n"
        "Backing up: 2 of about 4 MB, 0 s left\n",
    )


def test_a_line_only_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("Flow", "steps") as progress:
        progress.update(500, 2000)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("_every_line")
def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("Flow", "steps", quiet=True) as progress:
        progress.update(500, 2000)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("unit", "amount"), [("events", "500/2000 events"), ("bytes", "0.5/2.0 kB")]
)
def test_a_bar_on_a_terminal(
    unit: progress_bar.Unit,
    amount: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    with ProgressBar("check", unit) as progress:
        progress.update(0, 2000)
        progress.advance(500)
    out, err = capsys.readouterr()
    assert not out
    assert "check" in err
    assert amount in err
