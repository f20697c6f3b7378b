"""The search builder: settings with ranges, what is optimized, the budget, what that amounts to,
and the button that starts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from ganboard.app import auth, errors, navigation
from ganboard.app.launch import search_form
from ganboard.db.searches import searches
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.searches import definition
from ganboard.worker.searches.definition import Plan
from ganboard.worker.submission import submit

# {"shown": what was asked} and, once started, "search"; changed in place, which no rerun can
# interrupt
STARTED = "search_started"


def draw(context: Context, base: Mapping[str, Any], *, preset: str) -> None:
    """The whole builder; `base` are the form's settings."""
    started: dict[str, Any] = st.session_state.setdefault(STARTED, {})
    with st.container(border=True, key="search_builder"):
        st.subheader("Search", anchor=False)
        st.caption(
            "A sampler chooses the settings of each run by what earlier runs have reached. All"
            " other settings come from the form."
        )
        try:
            found: Plan | None = _asked(context, base, preset)
        except CLEAR_ERRORS as error:
            errors.report(str(error))
            found = None
        if found is not None:
            for sentence in definition.sentences(found):
                st.caption(formatting.escape(sentence))
        if "search" in started:
            _show_started(context, started)
        else:
            _offer(context, found, started)


def _asked(context: Context, base: Mapping[str, Any], preset: str) -> Plan:
    """The search that the fields ask for. Raises the errors of each part."""
    space = search_form.asked_space(base)
    with st.grid(min_column_width=200, gap="small", vertical_alignment="bottom"):
        objective = search_form.asked_objective(base)
        sampler, pruner, seed = search_form.asked_method()
        budget = search_form.asked_budget(submit.machines(context).workers)
        name = search_form.asked_name(base, preset)
    return definition.plan(
        context,
        base,
        space,
        objective=objective,
        sampler=sampler,
        pruner=pruner,
        seed=seed,
        budget=budget,
        preset=preset,
        name=name,
    )


def _offer(context: Context, found: Plan | None, started: dict[str, Any]) -> None:
    """The button that starts it."""
    clicked = st.button(
        "Start the search",
        key="search_start",
        type="primary",
        icon=":material/rocket_launch:",
        **auth.writer(disabled=found is None),
    )
    if clicked and found is not None:
        with errors.sentences():
            # at once and in place: a double click draws the page with the button pressed twice
            started["search"] = definition.start(context, found).id
            st.rerun()


def _show_started(context: Context, started: dict[str, Any]) -> None:
    search = searches.get(context.engine, started["search"])
    if search is None:
        started.clear()
        return
    st.markdown(f":green-badge[:material/check: Started] as search `{search.id}`")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(
            navigation.SEARCHES_PAGE,
            label="Show the search",
            icon=navigation.PAGES[navigation.SEARCHES_PAGE][1],
            query_params={"search": search.id},
        )
        st.page_link(
            navigation.RUNS_PAGE,
            label="Show in the list of runs",
            icon=":material/list:",
            query_params={"q": f"sweep:{search.id}"},
        )
        st.button(
            "Set up another search",
            icon=":material/manage_search:",
            type="tertiary",
            on_click=started.clear,
        )
