"""Panels that are dragged to another place of the board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_HERE = Path(__file__)
# of the keys of containers, which dragging.js looks for
FRAME, GRIP = "panel_frame_", "panel_grip_"
_mount = st.components.v2.component(
    "ganboard_panel_dragging",
    html="<div class='panel-drop' hidden></div>",
    css=_HERE.with_suffix(".css").read_text(),
    js=_HERE.with_suffix(".js").read_text(),
    isolate_styles=False,
)


def listen(count: int) -> tuple[int, int] | None:
    """Let `count` panels be dragged; which one was dropped just now, and in whose place."""
    mounted = _mount(key="panel_dragging", on_moved_change=lambda: None)
    return checked(mounted.get("moved"), count)


def checked(sent: Any, count: int) -> tuple[int, int] | None:
    """What a browser sent, if it is two places of a board with so many panels."""
    match sent:
        case [int(place), int(to)] if 0 <= place < count and 0 <= to < count:
            return place, to
    return None


def grip(place: int) -> None:
    """What the panel in this place is dragged by."""
    with st.container(key=f"{GRIP}{place}", width="content"):
        st.markdown(":gray[:material/drag_indicator:]")
