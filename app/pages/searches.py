"""Searches over settings: all of them, and one with its figures. `?search=ID` names it."""

from __future__ import annotations

import streamlit as st

from ganboard.app import navigation
from ganboard.app.searches import actions, view
from ganboard.app.widgets import chooser
from ganboard.db.models import Search
from ganboard.db.searches import searches
from ganboard.worker import formatting

LISTED = 200  # the newest


def render() -> None:
    context = navigation.context()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.title("Searches", anchor=False, width="content")
        if st.button("Set up a search", type="primary", icon=":material/manage_search:"):
            navigation.open_launch()
    if st.session_state.pop(actions.DELETED, False):
        st.toast("Deleted the search.", icon=":material/check:")
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
    return chooser.choose(
        found,
        navigation.search_param(),
        param="search",
        label=_label,
        missing="There is no search with this id. It was deleted, or the address is incomplete.",
        label_visibility="collapsed",
        width=480,
    )


def _label(search: Search) -> str:
    begun = f"{search.created_at:%Y-%m-%d %H:%M}"
    return f"{formatting.shorten(search.name, 60)}, {begun} ({search.id})"


render()
