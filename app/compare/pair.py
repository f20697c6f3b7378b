"""Two image grids of the compared runs over each other: of two runs, or of two epochs of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import streamlit as st
from sqlalchemy import Engine

from ganboard.app.compare.comparison import Compared
from ganboard.app.run.images import grid_url
from ganboard.app.widgets import image_pair
from ganboard.app.widgets.image_pair import Picture
from ganboard.db.runs import queries
from ganboard.gan.events import REAL_IMAGES
from ganboard.worker import formatting

Mode = Literal["Side by side", "Swipe", "Difference"]
MODES: tuple[Mode, ...] = ("Side by side", "Swipe", "Difference")


@dataclass(frozen=True)
class Side:
    """A run, and one of its grids; None: it has none."""

    run_id: str
    epoch: int | None


@dataclass(frozen=True)
class Pair:
    left: Side
    right: Side
    difference: bool


def mode() -> Mode:
    """How grids are compared, kept in the URL."""
    return st.segmented_control(
        "View", MODES, default=MODES[0], required=True, key="pair", bind="query-params"
    )


def controls(engine: Engine, compared: Compared, chosen: Mode) -> Pair:
    """A run and an epoch for either side; at first the baseline and another run, at their newest
    grids."""
    others = [run.id for run in compared.runs if run.id != compared.baseline.id]
    left, right = st.columns(2)
    with left:
        one = _side(engine, compared, "left", compared.baseline.id)
    with right:
        other = _side(engine, compared, "right", others[0])
    return Pair(one, other, difference=chosen == "Difference")


def _side(engine: Engine, compared: Compared, name: str, usual: str) -> Side:
    labels = compared.labels()
    with st.container(horizontal=True, gap="small"):
        run_id = st.selectbox(
            name.capitalize(),
            compared.ids,
            index=compared.ids.index(usual),
            format_func=lambda one: labels.get(str(one), str(one)),  # also what an address names
            key=name,
            bind="query-params",
            filter_mode=None,
        )
        stored = [epoch for epoch in queries.grid_attempts(engine, run_id) if epoch != REAL_IMAGES]
        epoch = st.selectbox(
            "Epoch",
            list(reversed(stored)),
            key=f"{name}_epoch",
            bind="query-params",
            width=120,
            filter_mode=None,
            placeholder="none",
        )
    return Side(run_id, epoch)


def draw(engine: Engine, compared: Compared, pair: Pair) -> None:
    """Both grids over each other, or what one of them lacks."""
    pictures = []
    for side in (pair.left, pair.right):
        attempt = queries.grid_attempts(engine, side.run_id).get(side.epoch or 0)
        label = compared.labels()[side.run_id]
        if side.epoch is None or attempt is None:
            st.caption(formatting.escape(f"{label} has saved no image grid yet."))
            return
        when = f"epoch {side.epoch}" if side.epoch else "before training"
        url = grid_url(side.run_id, side.epoch, attempt)
        pictures.append(Picture(url, f"{formatting.shorten(label, 30)}, {when}"))
    image_pair.show(*pictures, difference=pair.difference, key="image_pair")
    st.caption(
        "Positions show the same sample where the runs share seed and latent_dim. The difference is"
        " absolute, by pixel: black where both are equal."
    )
