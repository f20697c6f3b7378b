"""What people wrote on a run: its tags and its note, which several may edit at once without losing
a word."""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth, errors
from ganboard.db.errors import NoteChanged
from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs.imports import IMPORTED
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context

LINE = 120  # characters of a note that the head of the page shows
_REFUSED = "note_refused"


def line(context: Context, run: Run) -> None:
    """Where the run comes from if not from here, tags, and the beginning of the note, for the head
    of the page; nothing without them."""
    tags = run_annotations.tags_of(context.engine, [run.id]).get(run.id, [])
    imported = run.facts.get(IMPORTED)
    if not tags and not run.note and not imported:
        return
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="marks_of_run"
    ):
        if imported:
            host = formatting.escape(str((run.hardware or {}).get("host", "another machine"))[:60])
            about = (
                f"Trained on {host}, imported on {str(imported)[:10]}. Its checkpoints are on that"
                " machine, so it can be cloned but not resumed."
            )
            st.badge("Imported", icon=":material/input:", color="blue", help=about)
        for tag in tags:
            st.badge(formatting.escape(tag), color="gray")
        if run.note:
            st.caption(
                formatting.escape(formatting.shorten(run.note, LINE)),
                width="stretch",
                help="See the Notes tab for the full note.",
            )


def show(context: Context, run: Run) -> None:
    """The tab Notes."""
    for sentence in st.session_state.pop(_REFUSED, []):
        errors.report(sentence)
    _tags(context, run)
    _note(context, run)


def _tags(context: Context, run: Run) -> None:
    key = f"tags-{run.id}"
    own = run_annotations.tags_of(context.engine, [run.id]).get(run.id, [])
    known = run_annotations.all_tags(context.engine)
    st.session_state[key] = own  # every change is stored at once; changes by others appear here
    st.multiselect(
        "Tags",
        sorted({*own, *known}),
        key=key,
        accept_new_options=True,
        max_selections=run_annotations.TAGS_PER_RUN,
        placeholder="Type a tag and press Enter",
        **auth.writer(
            "Labels for finding and grouping runs: at most"
            f" {run_annotations.TAGS_PER_RUN}, of up to {run_annotations.TAG_LENGTH} characters."
            " The list of runs can be filtered by tag."
        ),
        on_change=_store_tags,
        args=(context, run.id, own),
    )


def _store_tags(context: Context, run_id: str, before: list[str]) -> None:
    wanted = st.session_state[f"tags-{run_id}"]
    try:
        run_annotations.remove_tags(
            context.engine, run_ids=[run_id], tags=[tag for tag in before if tag not in wanted]
        )
        run_annotations.add_tags(
            context.engine, run_ids=[run_id], tags=[tag for tag in wanted if tag not in before]
        )
    except CLEAR_ERRORS as error:
        st.session_state[_REFUSED] = [str(error)]


def _note(context: Context, run: Run) -> None:
    read_key, draft_key = f"note-read-{run.id}", f"note-{run.id}"
    version, original = st.session_state.setdefault(read_key, (run.note_version, run.note or ""))
    draft = st.session_state.setdefault(draft_key, original)
    # nothing of one's own: take what there is now
    if version != run.note_version and draft in (original, run.note or ""):
        version, original = st.session_state[read_key] = (run.note_version, run.note or "")
        st.session_state[draft_key] = original
    draft = st.text_area(
        "Note",
        key=draft_key,
        height=240,
        max_chars=run_annotations.NOTE_LENGTH,
        placeholder="What this run is for, what was found, what to try next",
        **auth.writer("Everyone with access to this run can read it; every operator can edit it."),
    )
    behind = version != run.note_version
    if behind:
        errors.report(
            "This note was changed while you were editing. Your text is above, the stored text"
            " below. Merge them above and save, or discard yours.",
            "warning",
        )
        with st.container(border=True):
            st.caption("The stored note")
            st.text(run.note or "(empty)")
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Overwrite with mine" if behind else "Save",
            key="save_note",
            type="primary",
            **auth.writer(
                "Saves the note." if draft != (run.note or "") else "No changes to save.",
                disabled=draft == (run.note or ""),
            ),
            on_click=_store_note,
            args=(context, run.id, run.note_version),
        )
        if behind:
            st.button(
                "Take theirs",
                key="take_note",
                on_click=_take,
                args=(run.id,),
                help="Discard your text.",
            )


def _store_note(context: Context, run_id: str, version: int) -> None:
    """`version` is the one that the writer saw beside the button."""
    draft = st.session_state[f"note-{run_id}"]
    try:
        run_annotations.write_note(context.engine, run_id=run_id, text=draft, version=version)
        _take(run_id)
    except NoteChanged:
        pass  # the form, drawn anew, shows both texts
    except CLEAR_ERRORS as error:
        st.session_state[_REFUSED] = [str(error)]


def _take(run_id: str) -> None:
    """Begin again from what is stored."""
    st.session_state.pop(f"note-read-{run_id}", None)
    st.session_state.pop(f"note-{run_id}", None)
