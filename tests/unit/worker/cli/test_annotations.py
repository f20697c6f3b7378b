"""Tags, notes, the archive and searches on the command line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from tests.cli import document, ganboard, refused

MakeRun = Callable[..., Run]


def test_tags_are_put_on_and_taken_away(make_run: MakeRun) -> None:
    run = make_run()
    assert document("tag", run.id, "+paper", "+two words", "+old")["tags"] == [
        "old",
        "paper",
        "two words",
    ]
    assert (
        ganboard("tag", run.id[:5], "-old", "-nonsense").stdout
        == f"Run {run.id} is tagged: paper, two words\n"
    )
    assert ganboard("tag", "latest").stdout == f"Run {run.id} is tagged: paper, two words\n"
    assert document("runs")[0]["tags"] == document("show", run.id)["tags"] == ["paper", "two words"]
    assert "has no tags" in ganboard("tag", run.id, "-paper", "-two words").stdout


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("paper", "'paper' has no sign: use +paper"),
        ("+", "The tag is empty"),
        ("+a/b", "contains '/'"),
    ],
)
def test_a_tag_that_cannot_be_used_is_refused(
    make_run: MakeRun, change: str, sentence: str
) -> None:
    run = make_run()
    assert sentence in refused("tag", run.id, "-x", change)
    assert document("tag", run.id)["tags"] == []


def test_notes_are_written_shown_and_removed(make_run: MakeRun) -> None:
    run = make_run()
    assert "has no note" in ganboard("note", run.id).stdout
    assert document("note", run.id, "first\nsecond")["note"] == "first\nsecond"
    assert ganboard("note", "latest").stdout == "first\nsecond\n"
    assert document("note", run.id, "")["note"] is None
    assert "the limit is 4,000" in refused("note", run.id, "x" * 4001)


def test_archived_runs_are_listed_apart(make_run: MakeRun) -> None:
    one, two, three = make_run("one"), make_run("two"), make_run("three", status="running")
    assert [run["id"] for run in document("archive", one.id, two.id, one.id)] == [one.id, two.id]
    assert [run["id"] for run in document("runs")] == [three.id]
    assert [run["id"] for run in document("runs", "--archived")] == [two.id, one.id]
    assert ganboard("unarchive", one.id).stdout == f"Restored run {one.id}.\n"
    assert [run["id"] for run in document("runs")] == [three.id, one.id]
    assert "Stop it before archiving it" in refused("archive", one.id, three.id)
    assert [run["id"] for run in document("runs", "--archived")] == [two.id]


def test_the_search_language_is_that_of_the_page(make_run: MakeRun) -> None:
    small, large = make_run("small", batch_size=32), make_run("large", batch_size=128)
    ganboard("tag", small.id, "+base line")
    for search, expected in (
        ("batch_size>=64", [large.id]),
        ('tag:"base line"', [small.id]),
        ("-tag:x status:finished", [large.id, small.id]),
        ("/^L/", [large.id]),
        ("-small", [large.id]),
    ):
        assert [run["id"] for run in document("runs", "--search", search)] == expected, search
    assert "1 of 2 runs" in ganboard("runs", "--search", "status:finished", "--limit", "1").stdout
    assert "did you mean batch_size?" in refused("runs", "--search", "batchsize=3")
