"""Tags, notes, the archive and saved views."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from ganboard.db.engine import make_engine
from ganboard.db.errors import BadAnnotation, NotAllowed, NoteChanged, UnknownRun
from ganboard.db.models import STATUSES
from ganboard.db.runs import annotations as marks
from ganboard.db.runs import queries
from tests.unit.db.stored_runs import IN_FORK, in_status, stored, submitted, texts

ENDED = ("finished", "failed", "stopped")
UNUSABLE = (
    "",
    " ",
    "x" * 33,
    "a\nb",
    "a\u202eb",
    "a\0",
    "\udcff",
    "<b>",
    "a,b",
    "a/b",
    "50%",
    "👩‍👩‍👧",
    "-a",
    "a;DROP TABLE tag",
    "'",
)


# --- tags ---


def test_tags_are_put_on_and_taken_away(engine: Engine) -> None:
    one, two = submitted(engine), submitted(engine)
    marks.add_tags(engine, run_ids=[one, two], tags=["paper", "batch: 32"])
    marks.add_tags(engine, run_ids=[one], tags=["  größer   als ", "paper"])
    assert queries.tags_of(engine, [two, one, "nobody"]) == {
        two: ["batch: 32", "paper"],
        one: ["batch: 32", "größer als", "paper"],
        "nobody": [],
    }
    marks.remove_tags(engine, run_ids=[one, two], tags=["paper", "never there"])
    assert queries.tags_of(engine, [one, two]) == {
        one: ["batch: 32", "größer als"],
        two: ["batch: 32"],
    }
    assert queries.all_tags(engine) == ["batch: 32", "größer als"]
    assert texts(engine, one)[1:] == [
        "Tagged: paper, batch: 32.",
        "Tagged: größer als.",
        "Tags removed: paper.",
    ]
    assert texts(engine, two)[1:] == ["Tagged: paper, batch: 32.", "Tags removed: paper."]


@pytest.mark.parametrize("tag", UNUSABLE)
def test_a_tag_that_cannot_be_used_is_refused_in_one_sentence(engine: Engine, tag: str) -> None:
    run_id = submitted(engine)
    with pytest.raises(
        BadAnnotation, match=r"^The tag [^\n]+\.$|^The tag is empty: type 1 to 32 characters\.$"
    ):
        marks.add_tags(engine, run_ids=[run_id], tags=["good", tag])
    assert queries.tags_of(engine, [run_id]) == {run_id: []}


def test_twenty_tags_are_the_limit_for_every_run_or_nothing_happens(engine: Engine) -> None:
    full, empty = submitted(engine), submitted(engine)
    marks.add_tags(engine, run_ids=[full], tags=[f"t{i}" for i in range(20)])
    marks.add_tags(engine, run_ids=[full], tags=["t3"])
    with pytest.raises(
        BadAnnotation,
        match=rf"^Run {full} would have 21 tags: 20 is the limit, so remove some first.$",
    ):
        marks.add_tags(engine, run_ids=[empty, full], tags=["one more"])
    assert queries.tags_of(engine, [empty]) == {empty: []}


def test_marks_need_a_run(engine: Engine) -> None:
    actions: list[Callable[[], object]] = [
        lambda: marks.add_tags(engine, run_ids=["nobody"], tags=["a"]),
        lambda: marks.remove_tags(engine, run_ids=["nobody"], tags=["a"]),
        lambda: marks.write_note(engine, run_id="nobody", text="a", version=0),
        lambda: marks.archive(engine, run_ids=["nobody"]),
        lambda: marks.restore(engine, run_ids=["nobody"]),
    ]
    for action in actions:
        with pytest.raises(UnknownRun):
            action()


def _tag(url: str, start: float, run_ids: list[str], tag: str) -> None:
    engine = make_engine(url)
    time.sleep(max(0.0, start - time.monotonic()))  # together
    marks.add_tags(engine, run_ids=run_ids, tags=[tag])
    engine.dispose()


def test_people_who_tag_at_once_wait_for_each_other(engine: Engine, url: str) -> None:
    run_ids = [submitted(engine) for _ in range(8)]
    engine.dispose()
    start = time.monotonic() + 0.2
    with IN_FORK.Pool(4) as pool:
        pool.starmap(
            _tag,
            [(url, start, run_ids[:: 1 if i % 2 else -1], f"t{i}") for i in range(4)],
            chunksize=1,
        )
    assert queries.tags_of(engine, run_ids) == {
        run_id: ["t0", "t1", "t2", "t3"] for run_id in run_ids
    }


# --- notes ---


def test_a_note_is_written_changed_and_removed(engine: Engine) -> None:
    run_id = submitted(engine)
    assert (
        marks.write_note(engine, run_id=run_id, text="  first\r\nsecond\tline \n", version=0) == 1
    )
    assert stored(engine, run_id).note == "first\nsecond\tline"
    # nothing changes
    assert marks.write_note(engine, run_id=run_id, text="first\nsecond\tline", version=1) == 1
    assert marks.write_note(engine, run_id=run_id, text=" \n ", version=1) == 2
    assert stored(engine, run_id).note is None
    assert texts(engine, run_id)[1:] == ["Note written.", "Note removed."]


def test_nobody_overwrites_a_note_unseen(engine: Engine) -> None:
    run_id = submitted(engine)
    marks.write_note(engine, run_id=run_id, text="hers", version=0)
    with pytest.raises(
        NoteChanged,
        match=rf"^Somebody else changed the note of run {run_id} meanwhile; nothing is lost: ",
    ):
        marks.write_note(engine, run_id=run_id, text="his", version=0)
    assert (stored(engine, run_id).note, stored(engine, run_id).note_version) == ("hers", 1)


def test_a_note_has_limits(engine: Engine) -> None:
    run_id = submitted(engine)
    with pytest.raises(
        BadAnnotation, match=r"^The note has 4,001 characters: 4,000 is the limit.$"
    ):
        marks.write_note(engine, run_id=run_id, text="x" * 4001, version=0)
    with pytest.raises(
        BadAnnotation,
        match=r"^The note contains the invisible or control character U\+202E: leave it out.$",
    ):
        marks.write_note(engine, run_id=run_id, text="a\n\u202eb", version=0)
    marks.write_note(engine, run_id=run_id, text="é" * 4000, version=0)


# --- the archive ---


def test_only_what_has_ended_can_be_archived(engine: Engine) -> None:
    for status in STATUSES:
        run_id = in_status(engine, status)
        if status in ENDED:
            marks.archive(engine, run_ids=[run_id])
            since = stored(engine, run_id).archived_at
            marks.archive(engine, run_ids=[run_id])
            assert since is not None
            assert stored(engine, run_id).archived_at == since
        else:
            with pytest.raises(
                NotAllowed, match=rf"^Run {run_id} is {status}: stop it first, then archive it.$"
            ):
                marks.archive(engine, run_ids=[run_id])


def test_restoring_brings_a_run_back_as_it_was(engine: Engine) -> None:
    run_id = in_status(engine, "finished")
    before = stored(engine, run_id)
    marks.restore(engine, run_ids=[run_id])
    marks.archive(engine, run_ids=[run_id, run_id])
    marks.restore(engine, run_ids=[run_id])
    assert stored(engine, run_id) == before
    assert texts(engine, run_id)[-2:] == ["Archived.", "Restored from the archive."]


# --- saved views ---


def test_views_are_kept_by_name_for_their_page(engine: Engine) -> None:
    marks.save_view(engine, name=" failed ones ", page="runs", query="status=Failed&q=a%20b")
    marks.save_view(engine, name="Best", page="runs", query="")
    marks.save_view(engine, name="pair", page="compare", query="runs=a,b")
    assert [(view.name, view.query) for view in queries.views(engine, "runs")] == [
        ("Best", ""),
        ("failed ones", "status=Failed&q=a%20b"),
    ]
    assert queries.views(engine, "run") == []
    found = queries.view(engine, "pair")
    assert found is not None
    assert (found.page, found.query) == ("compare", "runs=a,b")
    marks.delete_view(engine, name="pair")
    marks.delete_view(engine, name="pair")
    assert queries.view(engine, "pair") is None


def test_a_view_has_limits(engine: Engine) -> None:
    marks.save_view(engine, name="x" * 60, page="runs", query="q" * 4000)
    for name, query, sentence in (
        (
            "x" * 60,
            "",
            r"^There is a view 'x+' already: choose another name, or delete that view first.$",
        ),
        ("x" * 61, "", r"^The name of the view has 61 characters: 60 is the limit.$"),
        (" ", "", r"^The name of the view is empty: type 1 to 60 characters.$"),
        (
            "a\nb",
            "",
            (
                r"^The name of the view contains the invisible or control character U\+000A: leave"
                r" it out.$"
            ),
        ),
        (
            "long",
            "q" * 4001,
            r"^The address has 4001 characters: 4000 is the limit of what can be saved.$",
        ),
    ):
        with pytest.raises(BadAnnotation, match=sentence):
            marks.save_view(engine, name=name, page="runs", query=query)


def test_two_hundred_views_are_the_limit(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "VIEWS", 3)
    for name in "abc":
        marks.save_view(engine, name=name, page="runs", query="")
    with pytest.raises(
        BadAnnotation, match=r"^There are 3 saved views, which is the limit: delete one first.$"
    ):
        marks.save_view(engine, name="d", page="runs", query="")
