"""All runs: what trains now, what was trained, and what can be done with it."""

from __future__ import annotations

import re

import streamlit as st

from ganboard.app import navigation, shortcuts
from ganboard.app.compare import overlay
from ganboard.app.run import actions, origin
from ganboard.app.run.actions import SELECTED
from ganboard.app.run.requested import evaluation
from ganboard.app.runs import filters, keys, latest, listing, saved_views
from ganboard.app.runs import table as runs_table
from ganboard.app.runs import trash as trash_actions
from ganboard.app.runs.listing import ACTIVE, TRASH, Choice
from ganboard.app.theme import style
from ganboard.db.runs import queries, trash
from ganboard.worker import formatting
from ganboard.worker.context import Context

SWEEP = re.compile(r"(?:^|\s)sweep:(\w+)")
STALE = ".st-key-runs_stale [data-testid=stDataFrame] { opacity: 0.45 }"  # not what was asked for
CELL = "preview_cell"  # the cell that had the focus when the page was drawn last


def render() -> None:
    context = navigation.context()
    filters.keep_old_addresses()
    stored = listing.read(context)
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.title("Runs", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            saved_views.show("runs")
            if st.button("Launch a run", type="primary", icon=":material/rocket_launch:"):
                navigation.open_launch()
    outcome = st.container()
    if not stored and not trash.count(context.engine):
        _nothing_yet()
        actions.report_outcome(outcome)
        st.fragment(_wait_for_first, run_every=3.0)(context)
        return
    seconds = 2.0 if stored.training else 5.0
    card = st.container()
    names = listing.names(context, str(context.engine.url))
    choice, stale = filters.show(listing.newest_first(stored), names)
    if stale:
        style.apply(STALE)
    current = {run.id: run.status for run in listing.chosen(context, stored, choice)[0]}
    before = st.session_state.get(SELECTED, [])
    st.session_state[SELECTED] = [run_id for run_id in before if run_id in current]
    if key := shortcuts.taken():
        keys.apply(key, list(current))
    if sweep := SWEEP.search(choice.search):
        origin.link(context, sweep[1], length=70)
    if stored and choice.place != TRASH:
        with card:
            st.fragment(latest.card, run_every=seconds)(context)
    if choice.place == TRASH:
        trash_actions.bar(context)
    else:
        actions.bar(context)
        evaluation.waiting(context)
    states = [current[run_id] for run_id in st.session_state[SELECTED]]
    style.apply(overlay.STYLE)
    with st.container(key="runs_body"):
        with st.container(key="runs_stale" if stale else "runs_found"):
            every = max(seconds, runs_table.interval(len(current)))
            st.fragment(_table, run_every=every)(context, choice, stored.training, states)
        if choice.place != TRASH and (selected := st.session_state[SELECTED]):
            overlay.show(context, selected, seconds)
    # last: a part above that draws the page anew would swallow the words
    actions.report_outcome(outcome)


def _table(context: Context, choice: Choice, training: bool, states: list[str]) -> None:
    """`training` is whether a run trained, and `states` those of the selected runs, when the page
    was drawn."""
    stored = listing.read(context)
    if stored.training != training or not (stored or trash.count(context.engine)):
        st.rerun()  # the interval of both live parts depends on runs that train
    chosen, table = listing.chosen(context, stored, choice)
    before = st.session_state.get(SELECTED, [])
    current = {run.id: run.status for run in chosen} if before else {}
    if [current.get(run_id) for run_id in before] != states:
        st.rerun()  # what can be done with the selected runs has changed
    if choice.place == TRASH:
        everything = trash.count(context.engine)
    else:
        everything = stored.count(choice.place)
    if not chosen:
        _nothing_found(choice, everything)
        return
    preview = navigation.preview_param()
    clicks = runs_table.show(table, [run.id for run in chosen], before, preview)
    st.caption(
        f"{formatting.plural(len(chosen), 'run')} of {everything:,}"
        if len(chosen) < everything
        else formatting.plural(everything, "run")
    )
    if clicks.opened:
        navigation.open_run(clicks.opened)
    if choice.place != TRASH:
        _follow_focus(clicks.cell)
    if clicks.selected != before:
        st.session_state[SELECTED] = clicks.selected
        st.rerun()


def _follow_focus(cell: tuple[str, str] | None) -> None:
    """Preview the run of the cell that has the focus, once that has moved."""
    before = st.session_state.get(CELL)
    if cell == before:
        return
    st.session_state[CELL] = cell
    # the first focus of a table goes to its first cell, whatever was clicked: a box, a heading
    if cell is None or (before is None and cell[1] == runs_table.FIRST_COLUMN):
        return
    if cell[0] != navigation.preview_param():
        navigation.set_preview_param(cell[0])
        st.rerun()


def _nothing_found(choice: Choice, everything: int) -> None:
    if everything or choice.place == ACTIVE:
        text = "No matching runs: change the search or the states above."
    elif choice.place == TRASH:
        text = "The trash is empty. Deleted runs stay in it for a week."
    else:
        text = "No run is archived."
    st.info(text, icon=":material/filter_alt_off:")


def _nothing_yet() -> None:
    with st.container(border=True):
        st.subheader("No runs yet", anchor=False)
        st.markdown(
            "A run trains one GAN with one configuration: data, batch size, precision, XLA,"
            " replicas. The **starter** preset takes less than a minute on two CPU cores and"
            " generates legible digits."
        )
        if st.button("Set up the first run", icon=":material/arrow_forward:"):
            navigation.open_launch()


def _wait_for_first(context: Context) -> None:
    if queries.count_runs(context.engine, archived=True):
        st.rerun()


render()
