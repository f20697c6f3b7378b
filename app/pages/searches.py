"""Searches over settings: all of them, and one with its figures. `?search=ID` names it."""

from __future__ import annotations

import streamlit as st

from ganboard.app import navigation
from ganboard.app.searches import view
from ganboard.db.models import Search
from ganboard.db.searches import searches
from ganboard.worker import formatting

CHOICE = "search_choice"
LISTED = 200  # the newest


def render() -> None:
    context = navigation.context()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.title("Searches", anchor=False, width="content")
        if st.button("Set up a search", type="primary", icon=":material/manage_search:"):
            navigation.open_launch()
    found = searches.listed(context.engine, limit=LISTED)
    if not found:
        with st.container(border=True):
            st.subheader("No searches yet", anchor=False)
            st.markdown(
                "A search looks for good settings within a budget of runs: it chooses the settings"
                " of each run by what earlier ones have reached, and stops poor runs early. Set"
                " one up on the page **Launch**: **Sweep**, then **Search**."
            )
        return
    if (chosen := _chosen(found)) is not None:
        view.show(context, chosen)


def _chosen(found: list[Search]) -> Search | None:
    """The search of the address, or of the chooser below the title."""
    named = {search.id: search for search in found}
    asked = navigation.search_param()
    if asked is not None and asked not in named:
        st.info(
            "There is no search with this id. The address is incomplete.",
            icon=":material/search_off:",
        )
        return None
    st.session_state[CHOICE] = asked or found[0].id
    current = st.selectbox(
        "Search",
        list(named),
        format_func=lambda search_id: _label(named[search_id]),
        key=CHOICE,
        on_change=lambda: st.query_params.__setitem__("search", st.session_state[CHOICE]),
        label_visibility="collapsed",
        width=480,
    )
    return named[current]


def _label(search: Search) -> str:
    begun = f"{search.created_at:%Y-%m-%d %H:%M}"
    return f"{formatting.shorten(search.name, 60)}, {begun} ({search.id})"


render()
