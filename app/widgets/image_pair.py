"""Two image grids over each other: a slider between them, or their difference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

_HERE = Path(__file__)
_HTML = """
<div class="pair">
  <div class="names"></div>
  <div class="stage"></div>
  <input type="range" min="0" max="100" value="50" aria-label="Left or right picture">
  <output></output>
</div>
"""
_mount = st.components.v2.component(
    "ganboard_image_pair",
    html=_HTML,
    css=_HERE.with_suffix(".css").read_text(),
    js=_HERE.with_suffix(".js").read_text(),
)


@dataclass(frozen=True)
class Picture:
    """An address on this server, and what the picture is."""

    url: str
    label: str


def show(left: Picture, right: Picture, *, difference: bool, key: str) -> None:
    """Draw both; with `difference` their absolute difference, which has to be computed in the
    browser."""
    data = {"left": vars(left), "right": vars(right), "difference": difference}
    _mount(key=key, data=data)
