"""Tags, notes, the archive and saved views."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from ganboard.db.engine import make_engine
from ganboard.db.errors import BadAnnotation, NotAllowed, NoteChanged, UnknownRun
from ganboard.db.models import STATUSES
from ganboard.db.runs import annotations as run_annotations
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
    run_annotations.add_tags(engine, run_ids=[one, two], tags=["paper", "batch: 32"])
    run_annotations.add_tags(engine, run_ids=[one], tags=["  größer   als ", "paper"])
    assert run_annotations.tags_of(engine, [two, one, "nobody"]) == {
        two: ["batch: 32", "paper"],
        one: ["batch: 32", "größer als", "paper"],
        "nobody": [],
    }
    run_annotations.remove_tags(engine, run_ids=[one, two], tags=["paper", "never there"])
    assert run_annotations.tags_of(engine, [one, two]) == {
        one: ["batch: 32", "größer als"],
        two: ["batch: 32"],
    }
    assert run_annotations.all_tags(engine) == ["batch: 32", "größer als"]
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
        BadAnnotation, match=r"^The tag [^\n]+\.$|^The tag is empty. Enter 1 to 32 characters\.$"
    ):
        run_annotations.add_tags(engine, run_ids=[run_id], tags=["good", tag])
    assert run_annotations.tags_of(engine, [run_id]) == {run_id: []}


def test_twenty_tags_are_the_limit_for_every_run_or_nothing_happens(engine: Engine) -> None:
    full, empty = submitted(engine), submitted(engine)
    run_annotations.add_tags(engine, run_ids=[full], tags=[f"t{i}" for i in range(20)])
    run_annotations.add_tags(engine, run_ids=[full], tags=["t3"])
    with pytest.raises(
        BadAnnotation,
        match=rf"^Run {full} would have 21 tags; the limit is 20\. Remove some first.$",
    ):
        run_annotations.add_tags(engine, run_ids=[empty, full], tags=["one more"])
    assert run_annotations.tags_of(engine, [empty]) == {empty: []}


def test_marks_need_a_run(engine: Engine) -> None:
    actions: list[Callable[[], object]] = [
        lambda: run_annotations.add_tags(engine, run_ids=["nobody"], tags=["a"]),
        lambda: run_annotations.remove_tags(engine, run_ids=["nobody"], tags=["a"]),
        lambda: run_annotations.write_note(engine, run_id="nobody", text="a", version=0),
        lambda: run_annotations.archive(engine, run_ids=["nobody"]),
        lambda: run_annotations.restore(engine, run_ids=["nobody"]),
    ]
    for action in actions:
        with pytest.raises(UnknownRun):
            action()


def _tag(url: str, start: float, run_ids: list[str], tag: str) -> None:
    engine = make_engine(url)
    time.sleep(max(0.0, start - time.monotonic()))  # together
    run_annotations.add_tags(engine, run_ids=run_ids, tags=[tag])
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
    assert run_annotations.tags_of(engine, run_ids) == {
        run_id: ["t0", "t1", "t2", "t3"] for run_id in run_ids
    }


# --- notes ---


def test_a_note_is_written_changed_and_removed(engine: Engine) -> None:
    run_id = submitted(engine)
    assert (
        run_annotations.write_note(
            engine, run_id=run_id, text="  first\r\nsecond\tline \n", version=0
        )
        == 1
    )
    assert stored(engine, run_id).note == "first\nsecond\tline"
    # nothing changes
    assert (
        run_annotations.write_note(engine, run_id=run_id, text="first\nsecond\tline", version=1)
        == 1
    )
    assert run_annotations.write_note(engine, run_id=run_id, text=" \n ", version=1) == 2
    assert stored(engine, run_id).note is None
    assert texts(engine, run_id)[1:] == ["Note written.", "Note removed."]


def test_nobody_overwrites_a_note_unseen(engine: Engine) -> None:
    run_id = submitted(engine)
    run_annotations.write_note(engine, run_id=run_id, text="hers", version=0)
    with pytest.raises(
        NoteChanged, match=rf"^The note of run {run_id} was changed by someone else"
    ):
        run_annotations.write_note(engine, run_id=run_id, text="his", version=0)
    assert (stored(engine, run_id).note, stored(engine, run_id).note_version) == ("hers", 1)


def test_a_note_has_limits(engine: Engine) -> None:
    run_id = submitted(engine)
    with pytest.raises(
        BadAnnotation, match=r"^The note has 4,001 characters; the limit is 4,000.$"
    ):
        run_annotations.write_note(engine, run_id=run_id, text="x" * 4001, version=0)
    with pytest.raises(
        BadAnnotation,
        match=r"^The note contains the invisible or control character U\+202E. Remove it.$",
    ):
        run_annotations.write_note(engine, run_id=run_id, text="a\n\u202eb", version=0)
    run_annotations.write_note(engine, run_id=run_id, text="é" * 4000, version=0)


# --- the archive ---


def test_only_what_has_ended_can_be_archived(engine: Engine) -> None:
    for status in STATUSES:
        run_id = in_status(engine, status)
        if status in ENDED:
            run_annotations.archive(engine, run_ids=[run_id])
            since = stored(engine, run_id).archived_at
            run_annotations.archive(engine, run_ids=[run_id])
            assert since is not None
            assert stored(engine, run_id).archived_at == since
        else:
            with pytest.raises(
                NotAllowed, match=rf"^Run {run_id} is {status}\. Stop it before archiving it\.$"
            ):
                run_annotations.archive(engine, run_ids=[run_id])


def test_restoring_brings_a_run_back_as_it_was(engine: Engine) -> None:
    run_id = in_status(engine, "finished")
    before = stored(engine, run_id)
    run_annotations.restore(engine, run_ids=[run_id])
    run_annotations.archive(engine, run_ids=[run_id, run_id])
    run_annotations.restore(engine, run_ids=[run_id])
    assert stored(engine, run_id) == before
    assert texts(engine, run_id)[-2:] == ["Archived.", "Restored from the archive."]


# --- saved views ---


def test_views_are_kept_by_name_for_their_page(engine: Engine) -> None:
    run_annotations.save_view(
        engine, name=" failed ones ", page="runs", query="status=Failed&q=a%20b"
    )
    run_annotations.save_view(engine, name="Best", page="runs", query="")
    run_annotations.save_view(engine, name="pair", page="compare", query="runs=a,b")
    assert [(view.name, view.query) for view in run_annotations.views(engine, "runs")] == [
        ("Best", ""),
        ("failed ones", "status=Failed&q=a%20b"),
    ]
    assert run_annotations.views(engine, "run") == []
    found = run_annotations.view(engine, "pair")
    assert found is not None
    assert (found.page, found.query) == ("compare", "runs=a,b")
    run_annotations.delete_view(engine, name="pair")
    run_annotations.delete_view(engine, name="pair")
    assert run_annotations.view(engine, "pair") is None


def test_a_view_has_limits(engine: Engine) -> None:
    run_annotations.save_view(engine, name="x" * 60, page="runs", query="q" * 4000)
    for name, query, sentence in (
        ("x" * 60, "", r"^A view named 'x+' already exists\."),
        ("x" * 61, "", r"^The name of the view has 61 characters; the limit is 60.$"),
        (" ", "", r"^The name of the view is empty. Enter 1 to 60 characters.$"),
        (
            "a\nb",
            "",
            (
                r"^The name of the view contains the invisible or control character U\+000A\."
                r" Remove it\.$"
            ),
        ),
        (
            "long",
            "q" * 4001,
            r"^The address has 4001 characters; the limit for a saved view is 4000.$",
        ),
    ):
        with pytest.raises(BadAnnotation, match=sentence):
            run_annotations.save_view(engine, name=name, page="runs", query=query)


def test_two_hundred_views_are_the_limit(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_annotations, "VIEWS", 3)
    for name in "abc":
        run_annotations.save_view(engine, name=name, page="runs", query="")
    with pytest.raises(
        BadAnnotation, match=r"^There are already 3 saved views, which is the limit\."
    ):
        run_annotations.save_view(engine, name="d", page="runs", query="")
