"""The search or the claim that submitted a run: its id is that of the run's sweep."""

from __future__ import annotations

import streamlit as st

from ganboard.app import navigation
from ganboard.db.claims import records
from ganboard.db.searches import searches
from ganboard.worker import formatting
from ganboard.worker.context import Context


def link(context: Context, sweep: str, *, length: int) -> None:
    """The way to it, in up to `length` characters; nothing for the id of a sweep without one."""
    if search := searches.get(context.engine, sweep):
        page, param, label = navigation.SEARCHES_PAGE, "search", f"Search {search.name}"
    elif claim := records.get(context.engine, sweep):
        page, param, label = navigation.CLAIMS_PAGE, "claim", f"Claim {claim.statement}"
    else:
        return
    st.page_link(
        page,
        label=formatting.escape(formatting.shorten(label, length)),
        icon=navigation.PAGES[page][1],
        query_params={param: sweep},
        help=formatting.escape(label),
        width="content",
    )
