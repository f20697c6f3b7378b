"""Reads and writes of what people add: tags, notes, the archive, and saved views of pages.

Every change to a run leaves an event, so that its history is complete and `listing.ended_version`
sees it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from sqlalchemy import Engine, delete, func
from sqlmodel import Session, col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import BadAnnotation, NotAllowed, NoteChanged
from ganboard.db.fence import locked, note
from ganboard.db.models import ENDED, Run, SavedView, Tag
from ganboard.db.text_validation import invisible

TAG_LENGTH = 32
TAGS_PER_RUN = 20
NOTE_LENGTH = 4000
VIEW_NAME_LENGTH = 60
VIEWS = 200
QUERY_LENGTH = 4000

_TAG = re.compile(r"[\w.: -]+")


def check_tag(text: str) -> str:
    """The tag in Unicode NFC, single blanks inside and none around. Raises BadAnnotation."""
    tag = " ".join(check_text(text, "tag", TAG_LENGTH).split())
    wrong = next((c for c in tag if not _TAG.fullmatch(c)), None)
    if wrong is not None:
        raise BadAnnotation(
            f"The tag {tag!r} contains {wrong!r}. Only letters, digits, spaces and - _ . : are"
            " allowed."
        )
    if tag.startswith("-"):
        raise BadAnnotation(
            f"The tag {tag!r} starts with a minus, which would remove a tag. Start with a letter"
            " or a digit."
        )
    return tag


def add_tags(engine: Engine, *, run_ids: Sequence[str], tags: Iterable[str]) -> None:
    """Give all these runs all these tags; what a run has already stays. Raises BadAnnotation,
    UnknownRun."""
    wanted = dict.fromkeys(map(check_tag, tags))
    with writing(engine) as session:
        for run in _locked(session, run_ids):
            present = set(session.exec(select(Tag.tag).where(Tag.run_id == run.id)))
            new = [tag for tag in wanted if tag not in present]
            if len(present) + len(new) > TAGS_PER_RUN:
                raise BadAnnotation(
                    f"Run {run.id} would have {len(present) + len(new)} tags; the limit is"
                    f" {TAGS_PER_RUN}. Remove some first."
                )
            session.add_all(Tag(run_id=run.id, tag=tag) for tag in new)
            if new:
                note(session, run.id, run.attempt, "info", f"Tagged: {', '.join(new)}.")


def remove_tags(engine: Engine, *, run_ids: Sequence[str], tags: Iterable[str]) -> None:
    """Take these tags from all these runs; one that a run does not have is no error. Raises
    BadAnnotation, UnknownRun."""
    unwanted = [check_tag(tag) for tag in tags]
    with writing(engine) as session:
        for run in _locked(session, run_ids):
            gone = session.execute(
                delete(Tag)
                .where(col(Tag.run_id) == run.id, col(Tag.tag).in_(unwanted))
                .returning(col(Tag.tag))
            )
            if names := sorted(gone.scalars()):
                note(session, run.id, run.attempt, "info", f"Tags removed: {', '.join(names)}.")


def write_note(engine: Engine, *, run_id: str, text: str, version: int) -> int:
    """Replace a run's note (empty text removes it); returns its new version. `version` is the one
    that the writer has read.

    Raises NoteChanged if it was changed since, BadAnnotation, UnknownRun.
    """
    written = (
        check_text(text.replace("\r\n", "\n"), "note", NOTE_LENGTH, lines=True)
        if text.strip()
        else None
    )
    with writing(engine) as session:
        run = locked(session, run_id)
        if run.note_version != version:
            raise NoteChanged(
                f"The note of run {run_id} was changed by someone else in the meantime. Copy your"
                " text, read the current note, then save again."
            )
        if written != run.note:
            run.note, run.note_version = written, version + 1
            note(
                session,
                run_id,
                run.attempt,
                "info",
                "Note written." if written else "Note removed.",
            )
        return run.note_version


def archive(engine: Engine, *, run_ids: Sequence[str]) -> None:
    """Take runs that have ended out of the usual lists. Raises NotAllowed for any other,
    UnknownRun."""
    with writing(engine) as session:
        for run in _locked(session, run_ids):
            if run.status not in ENDED:
                raise NotAllowed(f"Run {run.id} is {run.status}. Stop it before archiving it.")
            if run.archived_at is None:
                run.archived_at = now()  # type: ignore[assignment]
                note(session, run.id, run.attempt, "info", "Archived.")


def restore(engine: Engine, *, run_ids: Sequence[str]) -> None:
    """Put archived runs back into the lists; others stay where they are. Raises UnknownRun."""
    with writing(engine) as session:
        for run in _locked(session, run_ids):
            if run.archived_at is not None:
                run.archived_at = None
                note(session, run.id, run.attempt, "info", "Restored from the archive.")


def save_view(engine: Engine, *, name: str, page: str, query: str) -> SavedView:
    """Keep the address of a page under a new name. Raises BadAnnotation."""
    name = check_text(name, "name of the view", VIEW_NAME_LENGTH)
    if len(query) > QUERY_LENGTH:
        raise BadAnnotation(
            f"The address has {len(query)} characters; the limit for a saved view is"
            f" {QUERY_LENGTH}."
        )
    view = SavedView(name=name, page=page, query=query)
    with writing(engine) as session:
        if session.get(SavedView, name) is not None:
            raise BadAnnotation(
                f"A view named {name!r} already exists. Choose another name, or delete that view"
                " first."
            )
        if (session.scalar(select(func.count()).select_from(SavedView)) or 0) >= VIEWS:
            raise BadAnnotation(
                f"There are already {VIEWS} saved views, which is the limit. Delete one first."
            )
        session.add(view)
    return view


def delete_view(engine: Engine, *, name: str) -> None:
    """Forget a view; one that is gone already is no error."""
    with writing(engine) as session:
        session.execute(delete(SavedView).where(col(SavedView.name) == name))


def tags_of(engine: Engine, run_ids: list[str]) -> dict[str, list[str]]:
    """The tags of each of these runs, in alphabetical order."""
    found: dict[str, list[str]] = {run_id: [] for run_id in run_ids}
    with reading(engine) as session:
        for tag in session.exec(
            select(Tag).where(col(Tag.run_id).in_(run_ids)).order_by(col(Tag.tag))
        ):
            found[tag.run_id].append(tag.tag)
    return found


def all_tags(engine: Engine) -> list[str]:
    """Every tag that any run has, in alphabetical order."""
    # joined, so that tags of runs in the trash are left out
    tags = select(Tag.tag).join(Run, col(Run.id) == Tag.run_id).distinct().order_by(col(Tag.tag))
    with reading(engine) as session:
        return list(session.exec(tags))


def views(engine: Engine, page: str) -> list[SavedView]:
    """The saved views of a page, by name."""
    with reading(engine) as session:
        return list(
            session.exec(
                select(SavedView).where(SavedView.page == page).order_by(func.lower(SavedView.name))
            )
        )


def view(engine: Engine, name: str) -> SavedView | None:
    with reading(engine) as session:
        return session.get(SavedView, name)


def _locked(session: Session, run_ids: Sequence[str]) -> list[Run]:
    # in one order, or two writers could wait for each other
    return [locked(session, run_id) for run_id in sorted(set(run_ids))]


def check_text(text: str, what: str, limit: int, *, lines: bool = False) -> str:
    """`text` in Unicode NFC without surrounding blanks. Raises BadAnnotation."""
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        raise BadAnnotation(f"The {what} is empty. Enter 1 to {limit} characters.")
    if len(text) > limit:
        raise BadAnnotation(f"The {what} has {len(text):,} characters; the limit is {limit:,}.")
    if bad := invisible(text.translate({ord("\n"): " ", ord("\t"): " "}) if lines else text):
        raise BadAnnotation(
            f"The {what} contains the invisible or control character {bad}. Remove it."
        )
    return text
