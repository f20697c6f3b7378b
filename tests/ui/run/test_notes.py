"""Tags and notes on a run's page, and two people who edit the same note."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries
from ganboard.worker import formatting
from ganboard.worker.context import Context
from tests.factories import HOSTILE_NAMES
from tests.ui.pages import button, checked, open_page, words

MakeRun = Callable[..., Run]


def notes(run: Run) -> AppTest:
    return open_page("run", run=run.id, view="Notes")


def stored(context: Context, run: Run) -> Run:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found


def typed(at: AppTest, run: Run, note: str) -> AppTest:
    return checked(at.get_by_key(f"note-{run.id}").set_value(note).run())


def test_a_note_is_written_changed_and_removed(context: Context, make_run: MakeRun) -> None:
    run = make_run("noted")
    at = notes(run)
    assert button(at, "Save").disabled
    at = checked(button(typed(at, run, "Works *well*.\nTry SGD."), "Save").click().run())
    assert stored(context, run).note == "Works *well*.\nTry SGD."
    assert button(at, "Save").disabled
    assert any(
        caption.value == formatting.escape("Works *well*. Try SGD.") for caption in at.caption
    )
    checked(button(typed(at, run, ""), "Save").click().run())
    assert stored(context, run).note is None


def test_nobody_overwrites_a_note_unseen(context: Context, make_run: MakeRun) -> None:
    run = make_run("shared")
    mine = typed(notes(run), run, "mine")
    version = run_annotations.write_note(context.engine, run_id=run.id, text="theirs", version=0)
    at = checked(button(mine, "Save").click().run())  # drawn before they wrote
    assert stored(context, run).note == "theirs"
    assert "This note was changed while you were editing." in words(at)
    assert at.get_by_key(f"note-{run.id}").value == "mine"
    assert "theirs" in [element.value for element in at.text]
    # They write once more before mine is saved: still nothing is lost.
    version = run_annotations.write_note(
        context.engine, run_id=run.id, text="theirs again", version=version
    )
    at = checked(button(at, "Overwrite with mine").click().run())
    assert stored(context, run).note == "theirs again"
    at = checked(
        button(typed(at, run, "theirs again, and mine"), "Overwrite with mine").click().run()
    )
    assert (stored(context, run).note, stored(context, run).note_version) == (
        "theirs again, and mine",
        version + 1,
    )
    assert "by someone else" not in words(at)


def test_their_note_can_be_taken(context: Context, make_run: MakeRun) -> None:
    run = make_run("shared")
    at = typed(notes(run), run, "mine")
    run_annotations.write_note(context.engine, run_id=run.id, text="theirs", version=0)
    at = checked(at.run())
    at = checked(button(at, "Take theirs").click().run())
    assert at.get_by_key(f"note-{run.id}").value == "theirs"
    assert stored(context, run).note == "theirs"


def test_who_writes_nothing_sees_what_others_write(context: Context, make_run: MakeRun) -> None:
    run = make_run("shared", status="running")
    at = notes(run)
    run_annotations.write_note(context.engine, run_id=run.id, text="theirs", version=0)
    at = checked(at.run())
    assert at.get_by_key(f"note-{run.id}").value == "theirs"
    assert "by someone else" not in words(at)


def test_a_note_that_cannot_be_stored_is_refused_and_stays(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("noted")
    at = checked(button(typed(notes(run), run, "zero\u200bwidth"), "Save").click().run())
    assert "U+200B" in words(at)
    assert at.get_by_key(f"note-{run.id}").value == "zero\u200bwidth"
    assert stored(context, run).note is None


def test_tags_are_stored_at_once(context: Context, make_run: MakeRun) -> None:
    run, other = make_run("tagged"), make_run("another")
    run_annotations.add_tags(context.engine, run_ids=[other.id], tags=["known"])
    at = notes(run)
    box = at.get_by_key(f"tags-{run.id}")
    assert box.options == ["known"]
    at = checked(box.set_value(["known", "brand new"]).run())
    assert run_annotations.tags_of(context.engine, [run.id])[run.id] == ["brand new", "known"]
    assert "brand new" in words(at)
    checked(at.get_by_key(f"tags-{run.id}").set_value(["known"]).run())
    assert run_annotations.tags_of(context.engine, [run.id])[run.id] == ["known"]


def test_a_bad_tag_is_refused_in_a_sentence(context: Context, make_run: MakeRun) -> None:
    run = make_run("tagged")
    at = checked(notes(run).get_by_key(f"tags-{run.id}").set_value(["<b>"]).run())
    assert "Only letters, digits, spaces" in words(at)
    assert run_annotations.tags_of(context.engine, [run.id]).get(run.id, []) == []
    assert at.get_by_key(f"tags-{run.id}").value == []


@pytest.mark.thorough
def test_notes_are_text(context: Context, make_run: MakeRun) -> None:
    for name in HOSTILE_NAMES:
        run = make_run("hostile")
        run_annotations.write_note(context.engine, run_id=run.id, text=name, version=0)
        shown = [caption.value for caption in open_page("run", run=run.id).caption]
        assert formatting.escape(formatting.shorten(stored(context, run).note or "", 120)) in shown
