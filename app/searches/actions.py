"""Stop a search, let it go on, raise its budget, delete it."""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth, errors
from ganboard.app.launch.typed import number, whole
from ganboard.db.models import Search
from ganboard.db.searches import searches
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.searches import definition
from ganboard.worker.searches.definition import MAX_HOURS, MAX_PARALLEL, MAX_RUNS, Budget

DELETED = "search_deleted"  # whether the next drawing of the page has to say so


def buttons(context: Context, search: Search) -> None:
    """What can be done with a search in its state."""
    running = search.state == searches.RUNNING
    with st.container(horizontal=True, width="content"):
        if running and st.button(
            "Stop",
            icon=":material/stop:",
            key="search_stop",
            **auth.writer("Submit no further runs; those that train or wait go on"),
        ):
            _stop(context, search, runs_too=False)
        if running and st.button(
            "Stop with its runs",
            icon=":material/cancel:",
            key="search_stop_runs",
            **auth.writer("Submit no further runs, and stop those that train or wait"),
        ):
            _stop(context, search, runs_too=True)
        if search.state in (searches.STOPPED, searches.FAILED) and st.button(
            "Continue",
            icon=":material/play_arrow:",
            key="search_continue",
            **auth.writer("Submit further runs, up to the budget"),
        ):
            with errors.sentences():
                definition.resume(context, search)
                st.rerun()
        if st.button(
            "Raise the budget",
            icon=":material/add:",
            key="search_budget",
            **auth.writer("More runs or hours, or more runs at once; the search continues"),
        ):
            budget(context, search)
        if not running and st.button(
            "Delete",
            icon=":material/delete:",
            key="delete_search",
            **auth.writer("Delete the search and its list of trials; its runs stay"),
        ):
            confirm(context, search)


def _stop(context: Context, search: Search, *, runs_too: bool) -> None:
    with errors.sentences():
        searches.stop(context.engine, search.id)
        if runs_too:
            stopped = definition.stop_runs(context, search)
            st.toast(f"Stopped the search and {formatting.plural(stopped, 'run')}.")
        st.rerun()


@st.dialog("Delete search?", icon=":material/delete:")
def confirm(context: Context, search: Search) -> None:
    """Ask before the trials go."""
    st.markdown(
        f"**{formatting.escape(search.name)}** will be deleted with its list of trials. Its runs"
        " stay. This cannot be undone."
    )
    if st.button("Delete search", type="primary", key="delete_confirmed", **auth.writer()):
        with errors.sentences():
            searches.remove(context.engine, search.id)
            st.query_params.pop("search", None)
            st.session_state[DELETED] = True
            st.rerun()


@st.dialog("Budget", icon=":material/add:")
def budget(context: Context, search: Search) -> None:
    """Runs, hours and runs at once, in place of those that the search has."""
    runs = st.text_input("Runs", str(search.runs), key="budget_runs")
    hours = st.text_input(
        "Hours of training",
        "" if search.hours is None else f"{search.hours:g}",
        key="budget_hours",
        placeholder="no limit",
    )
    parallel = st.text_input("At once", str(search.parallel), key="budget_parallel")
    if not st.button("Continue", type="primary", key="budget_save", **auth.writer()):
        return
    with errors.sentences():
        changed = Budget(
            runs=whole("Runs", runs or "", 1, MAX_RUNS),
            hours=number("Hours of training", hours, 0, MAX_HOURS) if hours else None,
            parallel=whole("At once", parallel or "", 1, MAX_PARALLEL),
        )
        definition.resume(context, search, changed)
        st.rerun()
