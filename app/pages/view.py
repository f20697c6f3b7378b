"""`?name=` leads to a saved view: the address of a page, restored.

A page of its own, because a page reads its address only when one comes to it from another.
"""

from __future__ import annotations

from urllib.parse import parse_qs

import streamlit as st

from ganboard.app import navigation
from ganboard.db.models import SavedView
from ganboard.db.runs import annotations as run_annotations
from ganboard.worker import formatting

PAGES = {
    "runs": navigation.RUNS_PAGE,
    "run": navigation.RUN_PAGE,
    "compare": navigation.COMPARE_PAGE,
    "frontier": navigation.FRONTIER_PAGE,
}
DRAWN = "view_drawn"


def render() -> None:
    name = st.query_params.get("name", "")
    view = run_annotations.view(navigation.context().engine, name)
    if view is None or view.page not in PAGES:
        st.title("No such view", anchor=False)
        st.write(
            f"There is no view “{formatting.escape(formatting.shorten(name, 60))}”. It was"
            " deleted, or the address is incomplete."
        )
        st.page_link(navigation.RUNS_PAGE, label="All runs", icon=":material/list:")
        return
    st.skeleton(height=400)
    st.session_state[DRAWN] = False
    st.fragment(_go_on, run_every=0.1)(view)


def _go_on(view: SavedView) -> None:
    """Once this page has been drawn: until then the page before holds the parameters that its
    controls are bound to."""
    if st.session_state[DRAWN]:
        st.switch_page(PAGES[view.page], query_params=parse_qs(view.query, keep_blank_values=True))
    st.session_state[DRAWN] = True


render()
