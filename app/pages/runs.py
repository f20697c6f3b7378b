"""All runs: what trains now, what was trained, and what can be done with it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app import latest, run_actions, runs_table, state, text
from db import queries
from db.models import ACTIVE, STATUSES
from worker.context import Context

LIMIT = 2000  # rows shown; more are found by searching
SELECTED = "runs_selected"


def render() -> None:
    context = state.context()
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title("Runs", anchor=False)
        if st.button("Launch a run", type="primary", icon=":material/rocket_launch:"):
            state.open_launch()
    outcome = st.container()
    if not queries.count_runs(context.engine):
        _nothing_yet()
        run_actions.tell_outcome(outcome)
        st.fragment(_wait_for_first, run_every=3.0)(context)
        return
    active = bool(queries.count_runs(context.engine, statuses=ACTIVE))
    st.fragment(latest.card, run_every=2.0 if active else None)(context)
    search, statuses = _filters()
    run_actions.bar(context, st.session_state.get(SELECTED, []))
    st.fragment(_table, run_every=2.0 if active else 5.0)(context, search, statuses, active)
    run_actions.tell_outcome(outcome)  # last: a part above that draws the page anew would swallow the words


def _filters() -> tuple[str, tuple[str, ...]]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input(
            "Search",
            key="q",
            bind="query-params",
            type="search",
            live=True,
            placeholder="Name or id",
            label_visibility="collapsed",
            width=280,
        )
        chosen = st.pills(
            "Status",
            STATUSES,
            key="status",
            bind="query-params",
            selection_mode="multi",
            format_func=text.status_word,
            label_visibility="collapsed",
        )
    return (search or "").strip(), tuple(chosen)


def _table(context: Context, search: str, statuses: tuple[str, ...], was_active: bool) -> None:
    if bool(queries.count_runs(context.engine, statuses=ACTIVE)) != was_active:
        st.rerun()  # the pace of both live parts follows what trains
    rows = _rows(context, str(context.engine.url), queries.runs_version(context.engine), search, statuses)
    if rows.empty:
        st.info("No run matches: change the search or the states above.", icon=":material/filter_alt_off:")
        return
    table = runs_table.with_duration(rows, queries.database_time(context.engine))
    before = st.session_state.get(SELECTED, [])
    now = runs_table.show(table, before)
    total = queries.count_runs(context.engine)
    st.caption(f"{text.plural(len(table), 'run')} of {total:,}" if len(table) < total else text.plural(total, "run"))
    if now != before:
        st.session_state[SELECTED] = now
        st.rerun()


@st.cache_data(max_entries=16, show_spinner=False)
def _rows(_context: Context, database: str, version: tuple[Any, ...], search: str, statuses: tuple[str, ...]) -> pd.DataFrame:
    return runs_table.frame(queries.list_runs(_context.engine, search=search, statuses=statuses, limit=LIMIT))


def _nothing_yet() -> None:
    with st.container(border=True):
        st.subheader("No runs yet", anchor=False)
        st.markdown(
            "A run trains one GAN with one set of choices: data, batch, precision, XLA, replicas. "
            "The **starter** preset takes about a minute on two CPU cores and draws legible digits."
        )
        if st.button("Set up the first run", icon=":material/arrow_forward:"):
            state.open_launch()


def _wait_for_first(context: Context) -> None:
    if queries.count_runs(context.engine):
        st.rerun()


render()
