"""The rows of a table that are ticked, and the cell that has the focus, where Python sets them too.

Every message of the browser says what its tables look like. One that was sent before the browser
drew a newer selection still names the older one, and would undo the newer: it is known here.
"""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

PREFIX = "rows_of_"  # of the keys of such tables
_OVERRULED = "overruled_selections"  # that a message may still name


def overrule() -> None:
    """Have tables take the selection that Python gives them next, whatever a browser reported."""
    overruled = st.session_state.setdefault(_OVERRULED, set())
    for widget in [str(name) for name in st.session_state if str(name).startswith(PREFIX)]:
        if known := _known(widget):
            overruled.add(known)
        del st.session_state[widget]


def holds(widget: str) -> bool:
    """Whether this table has a selection, and none that was overruled before its browser heard of a
    newer one. Called where the table is drawn, in a fragment of its own."""
    overruled = st.session_state.setdefault(_OVERRULED, set())
    known = _known(widget)
    if known is None or known in overruled:
        return False
    if _asked_by_browser():  # it has heard: from now on this is a click
        overruled.clear()
    return True


def place(widget: str, rows: list[int], cells: list[tuple[int, str]]) -> None:
    """Have the table that is drawn next, with this key, show this selection."""
    st.session_state[widget] = {"selection": {"rows": rows, "columns": [], "cells": cells}}
    st.session_state.setdefault(_OVERRULED, set()).discard(_known(widget))


def _asked_by_browser() -> bool:
    """Whether the state of widgets is that of a message: only one has a fragment run by itself,
    while the whole page is also drawn anew by Python."""
    context = get_script_run_ctx()
    return bool(context and context.fragment_ids_this_run)


def _known(widget: str) -> tuple[Any, ...] | None:
    """The selection that the session knows of; None without any."""
    state = st.session_state.get(widget)
    if state is None or "selection" not in state:  # a click on a name has a key of its own
        return None
    selection = state["selection"]
    return widget, tuple(selection["rows"]), tuple(map(tuple, selection["cells"]))
