"""Columns change places: what is chosen as columns is a list in the order of the table."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ganboard.app.runs.table import FOCUS

KEY = "columns"  # of the choice


def show(columns: Sequence[str]) -> None:
    """One of the columns moves to the left or right; names stay first."""
    movable = [name for name in columns if name != FOCUS]
    if len(movable) < 2:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.selectbox("Order", movable, key="column_to_move", filter_mode=None)
        place = movable.index(name)
        for label, by in (("Left", -1), ("Right", 1)):
            st.button(
                label,
                key=f"column_{label.lower()}",
                icon=f":material/arrow_{'back' if by < 0 else 'forward'}:",
                disabled=not 0 <= place + by < len(movable),
                on_click=_move,
                args=(place, by),
            )


def _move(place: int, by: int) -> None:
    columns = st.session_state[KEY]
    movable = [name for name in columns if name != FOCUS]
    movable.insert(place + by, movable.pop(place))
    st.session_state[KEY] = [name for name in columns if name == FOCUS] + movable
