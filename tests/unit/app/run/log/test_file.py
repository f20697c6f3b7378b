"""Logs of any size are read in parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.app.run.log import file as log_file
from ganboard.app.run.log.file import Search, tail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "train.log"


def found(path: Path, text: str) -> list[tuple[int, str]]:
    search = Search(text)
    search.read_on(path)
    assert search.total() >= len(search.found())
    return search.found()


def test_no_log(path: Path) -> None:
    assert tail(path) is None
    assert log_file.size(path) is None
    assert found(path, "x") == []


def test_a_huge_line_is_cut(path: Path) -> None:
    path.write_bytes(b"x" * 10_000_000)
    shown = tail(path)
    assert shown is not None
    assert [len(line) for line in shown.lines] == [64 * 1024]
    assert not shown.whole
    [(number, _)] = found(path, "X")[-1:]
    assert number == 1


def test_the_first_line_is_a_whole_one(path: Path) -> None:
    path.write_bytes(b"".join(b"%0300d\n" % number for number in range(1000)))
    shown = tail(path)
    assert shown is not None
    assert {len(line) for line in shown.lines} == {300}
    assert shown.lines[-1].endswith("999")


def test_the_end_may_be_an_earlier_one(path: Path) -> None:
    path.write_bytes(b"one\ntwo\nthree\n")
    shown = tail(path, end=8)
    assert shown is not None
    assert shown.lines == ["one", "two"]
    assert shown.whole


def test_a_log_that_grows_is_searched_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"error 1\nfine\nErr")
    search = Search("err")
    search.read_on(path)
    assert search.found() == [(1, "error 1"), (3, "Err")]
    searched: list[bytes] = []
    monkeypatch.setattr(Search, "_search", lambda self, block: searched.append(block))
    with path.open("ab") as file:
        file.write(b"or 2\n")
    search.read_on(path)
    assert searched == [b"Error 2\n"]


def test_lines_are_numbered_across_blocks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "_CHUNK", 64)
    lines = [f"line {number} of {number % 7}" for number in range(1, 400)]
    path.write_text("\n".join(lines))
    assert found(path, "OF 3") == [
        (number, line) for number, line in enumerate(lines, 1) if line.endswith("of 3")
    ]


def test_a_line_is_found_once(path: Path) -> None:
    path.write_text("a a a\nb\na\n")
    assert found(path, "a") == [(1, "a a a"), (3, "a")]


def test_a_shorter_file_is_read_anew(path: Path) -> None:
    path.write_text("old\n" * 10)
    search = Search("old")
    search.read_on(path)
    path.write_text("old\n")
    search.read_on(path)
    assert search.found() == [(1, "old")]
    assert search.total() == 1


def test_more_lines_than_are_shown(path: Path) -> None:
    path.write_text("".join(f"line {number}\n" for number in range(1, 2001)))
    search = Search("line")
    search.read_on(path)
    assert search.total() == 2000
    assert [search.found()[0][0], search.found()[-1][0]] == [2001 - log_file.LINES, 2000]
