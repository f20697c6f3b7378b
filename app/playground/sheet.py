"""A sheet of generated images that stays crisp at any size and whose images can be picked by mouse
or keyboard."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

_HTML = "<div class='sheet'></div>"
_CSS = """
.sheet { display: grid; gap: 4px; width: 100%; }
.picture {
  display: block; box-sizing: border-box; width: 100%; aspect-ratio: 1;
  padding: 0; border: 0; border-radius: 2px; image-rendering: pixelated;
  background-image: var(--png); background-size: var(--size); background-repeat: no-repeat;
}
button.picture { cursor: pointer; }
button.picture:hover { outline: 2px solid var(--st-border-color); }
button.picture[aria-pressed="true"] {
  outline: 3px solid var(--st-primary-color); outline-offset: 1px;
}
button.picture:focus-visible { outline: 3px dashed var(--st-primary-color); outline-offset: 1px; }
.caption {
  display: block; padding-top: 2px; text-align: center;
  font: 0.75rem var(--st-font); line-height: 1.3;
  color: var(--st-text-color); opacity: 0.8; min-height: 1.3em; overflow: hidden;
}
"""

_mount = st.components.v2.component(
    "ganboard_playground_sheet",
    html=_HTML,
    css=_CSS,
    js=Path(__file__).with_name("sheet.js").read_text(),
)


def sheet(
    png: bytes,
    *,
    columns: int,
    labels: Sequence[str],
    key: str,
    captions: Sequence[str] = (),
    picked: Sequence[int] | None = None,
    side: int = 96,
    flow: bool = False,
) -> int | None:
    """Show the images of `png`, row by row, with a label each (read aloud, and shown on hover) and
    a caption each, if any.

    With `picked`, the positions that are marked, they are buttons: returns the position that was
    clicked just now. `side` is the most pixels an image gets on the screen; with `flow` a row holds
    as many as there is room for, else `columns`.
    """
    data = {
        "png": base64.b64encode(png).decode(),
        "columns": columns,
        "rows": len(labels) // columns,
        "labels": list(labels),
        "captions": list(captions),
        "picked": list(picked or ()),
        "pickable": picked is not None,
        "side": side,
        "flow": flow,
    }
    clicked = _mount(key=key, data=data, on_toggled_change=lambda: None).toggled
    return clicked if isinstance(clicked, int) and 0 <= clicked < len(labels) else None
