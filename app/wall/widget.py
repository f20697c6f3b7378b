"""The component of the latent wall, and what the browser gets for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import streamlit as st

MEGABYTES = 192  # of decoded pictures that a browser keeps

_HERE = Path(__file__).parent
LATENT_HTML = (_HERE / "latent.html").read_text()
LATENT_CSS = (_HERE / "latent.css").read_text()
LATENT_JS = (_HERE / "latent.js").read_text()
_PARTS = ("strips.js", "curve.js", "layout.js", "view.js", "wall.js")
_mount = st.components.v2.component(
    "ganboard_latent_wall",
    html=(_HERE / "wall.html").read_text().replace("</section>", f"{LATENT_HTML}</section>"),
    css=(_HERE / "wall.css").read_text() + LATENT_CSS,
    js=LATENT_JS + "".join((_HERE / name).read_text() for name in _PARTS),
)


@dataclass(frozen=True)
class WallRun:
    """A block of the wall."""

    id: str
    name: str
    colour: str
    dash: str  # of its curve, in Plotly's words
    group: int | None  # of runs with the same latents; None: it is not known what they are
    latents: int  # images of a grid
    size: int  # pixels of an image
    attempts: list[int | None]  # that drew the grid of each column; None without one
    points: list[tuple[int, float]]  # epoch and metric


@dataclass(frozen=True)
class Metric:
    label: str
    digits: int


@dataclass(frozen=True)
class Open:
    """The image that an address names."""

    latent: int  # from 0
    run: str | None
    epoch: int


@dataclass(frozen=True)
class Wall:
    columns: list[int]  # epochs, ascending
    latents: int  # rows of a block
    word: str  # what an image is made from: "Latent"
    runs: Sequence[WallRun]
    about: Sequence[str]  # who shares the latents of each group
    metric: Metric | None
    open: Open | None


def show(wall: Wall, *, key: str) -> None:
    """Draw the wall; equal keys are the same one, whose view stays as it is."""
    _mount(key=key, data=orjson.dumps({**asdict(wall), "megabytes": MEGABYTES}))
