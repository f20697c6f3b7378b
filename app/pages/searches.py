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
    view.show(context, _chosen(found))


def _chosen(found: list[Search]) -> Search:
    """The search of the address, or of the chooser below the title."""
    named = {search.id: search for search in found}
    asked = navigation.search_param()
    if asked is not None and asked not in named:
        st.query_params.pop("search")
        st.caption(f"There is no search {formatting.escape(asked)}; this is the newest one.")
        asked = None
    chosen = st.selectbox(
        "Search",
        list(named),
        index=list(named).index(asked or found[0].id),
        format_func=lambda search_id: _label(named[search_id]),
        key=CHOICE,
        label_visibility="collapsed",
        filter_mode=None,
    )
    if chosen != asked:
        st.query_params["search"] = chosen
    return named[chosen]


def _label(search: Search) -> str:
    when = search.created_at.strftime("%Y-%m-%d %H:%M UTC")
    return f"{formatting.shorten(search.name, 60)} · {search.state} · {when}"


render()
