"""What a person chooses of a latent wall, and what an address opens of it."""

from __future__ import annotations

import streamlit as st

from ganboard.app.wall.widget import Open
from ganboard.db.ids import is_id

USUAL = 16  # latents
ALL = 0
CHOICES = (8, USUAL, 32, 64, ALL)
MOST = 256  # latents of a grid
HOW = (
    "Columns are epochs, 0 is before training. Drag to move, wheel or pinch to zoom, double click"
    " to reset; click an image, or tap it twice, to follow it through all epochs."
)
UNEVALUATED = ":material/info: There is no quality curve, since no epoch was evaluated."


def latents() -> int:
    """How many latents are rows, kept in the URL; ALL for as many as there are."""
    chosen = st.segmented_control(
        "Latents",
        CHOICES,
        default=USUAL,
        required=True,
        format_func=lambda count: str(count) if count else "All",
        key="latents",
        bind="query-params",
        help="The first images of each grid, row by row: one row of the wall for each.",
    )
    return chosen if chosen in CHOICES else USUAL


def asked() -> Open | None:
    """The image that `?latent=3&of=RUN&at=5` names, which counts latents from 1."""
    latent = _number("latent")
    if latent is None or not 1 <= latent <= MOST:
        return None
    run, epoch = st.query_params.get("of", ""), _number("at")
    return Open(latent - 1, run if is_id(run) else None, 2**31 if epoch is None else epoch)


def _number(name: str) -> int | None:
    text = st.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
