"""What can be done with runs in the trash: restore them, remove them, empty it. Also used by the
pages System and Run."""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth
from ganboard.app.run import actions
from ganboard.app.run.actions import SELECTED
from ganboard.db.models import Run
from ganboard.db.runs import listing, queries, trash
from ganboard.worker import formatting, removal
from ganboard.worker.context import Context


def bar(context: Context) -> None:
    """Buttons for the selected runs of the trash, and for all of it."""
    selected = st.session_state.get(SELECTED, [])
    runs = queries.get_runs(context.engine, selected, trash_too=True) if selected else []
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="run_actions"):
        buttons(context, runs)
        empty_button(context)
        actions.selection(runs)


def buttons(context: Context, runs: list[Run]) -> None:
    """Restore or remove these runs."""
    if st.button(
        "Restore",
        key="restore_deleted",
        icon=":material/restore_from_trash:",
        **auth.writer("Restore runs from the trash, with all their data", disabled=not runs),
    ):
        actions.act(runs, "Restored {}.", lambda run: trash.restore(context.engine, run_id=run.id))
        st.rerun()
    if st.button(
        "Delete permanently",
        key="delete_permanently",
        icon=":material/delete_forever:",
        **auth.writer("Remove runs with all their files now", disabled=not runs),
    ):
        _confirm_removal(context, runs)


def empty_button(context: Context) -> None:
    """Remove every run in the trash."""
    if st.button(
        "Empty trash",
        key="delete_trash",
        icon=":material/delete_sweep:",
        **auth.writer(
            "Remove every run in the trash now", disabled=not trash.count(context.engine)
        ),
    ):
        _confirm_emptying(context)


@st.dialog("Delete permanently?", icon=":material/delete_forever:")
def _confirm_removal(context: Context, runs: list[Run]) -> None:
    what = "this run" if len(runs) == 1 else f"these {len(runs)} runs"
    st.write(
        f"The losses, images, log and checkpoints of {what} will be removed. This cannot be undone:"
    )
    with st.container(height=160 if len(runs) > 4 else "content", border=True):
        for run in runs:
            st.text(f"{formatting.shorten(run.name, 60)}  ({run.id})")
    st.button(
        f"Delete {formatting.plural(len(runs), 'run')}",
        type="primary",
        key="delete_confirmed",
        on_click=_remove,
        args=(context, runs),
    )


def _remove(context: Context, runs: list[Run]) -> None:
    actions.act(runs, "Deleted {}.", lambda run: removal.remove(context, run.id))
    actions.leave_page_of_run()
    st.rerun()


@st.dialog("Empty the trash?", icon=":material/delete_sweep:")
def _confirm_emptying(context: Context) -> None:
    held = trash.held(context.engine)
    st.write(
        f"{formatting.plural(held.runs, 'run')} with"
        f" {formatting.size(held.grids + held.checkpoints)} of images and checkpoints will be"
        " removed. This cannot be undone."
    )
    st.button(
        "Empty trash", type="primary", key="delete_confirmed", on_click=_empty, args=(context,)
    )


def _empty(context: Context) -> None:
    ids = [run.id for run in listing.list_all(context.engine, trash=True)]
    runs = queries.get_runs(context.engine, ids, trash_too=True)
    actions.act(runs, "Deleted {}.", lambda run: removal.remove(context, run.id))
    st.rerun()
