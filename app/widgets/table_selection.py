"""The rows of a table that are ticked, and the cell that has the focus, where Python sets them too.

Every message of the browser says what its tables look like. One that was sent before the browser
drew a newer selection still names the older one, and would undo the newer: it is known here.
"""

from __future__ import annotations

import math
import time
from typing import Any

import streamlit as st

PREFIX = "rows_of_"  # of the keys of such tables
_OVERRULED = "overruled_selections"  # until when a message may still name which
_UNDERWAY = 2.0  # seconds


def overrule() -> None:
    """Have tables take the selection that Python gives them next, whatever a browser reported."""
    overruled = st.session_state.setdefault(_OVERRULED, {})
    for widget in [str(name) for name in st.session_state if str(name).startswith(PREFIX)]:
        if known := _known(widget):
            overruled[known] = math.inf  # until the table is drawn
        del st.session_state[widget]


def holds(widget: str) -> bool:
    """Whether this table has a selection, and not one that was overruled a moment ago."""
    known = _known(widget)
    overruled = st.session_state.get(_OVERRULED, {})
    return known is not None and overruled.get(known, 0.0) <= time.monotonic()


def place(widget: str, rows: list[int], cells: list[tuple[int, str]]) -> None:
    """Have the table that is drawn next, with this key, show this selection."""
    now = time.monotonic()
    overruled = st.session_state.get(_OVERRULED, {})
    for known, until in list(overruled.items()):
        if until == math.inf:
            overruled[known] = now + _UNDERWAY
        elif until < now:
            del overruled[known]
    st.session_state[widget] = {"selection": {"rows": rows, "columns": [], "cells": cells}}


def _known(widget: str) -> tuple[Any, ...] | None:
    """The selection that the session knows of; None without any."""
    state = st.session_state.get(widget)
    if state is None or "selection" not in state:  # a click on a name has a key of its own
        return None
    selection = state["selection"]
    return widget, tuple(selection["rows"]), tuple(map(tuple, selection["cells"]))
