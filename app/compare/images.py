"""The images of several runs side by side, all at the same epoch and the same size."""

from __future__ import annotations

import io
from dataclasses import dataclass

import streamlit as st
from PIL import Image
from sqlalchemy import Engine

from ganboard.app.compare import pair
from ganboard.app.compare.comparison import Compared
from ganboard.app.compare.pair import Pair
from ganboard.db.runs import queries
from ganboard.gan.events import REAL_IMAGES
from ganboard.worker import formatting

# pixels: eight, four or two beside each other on a laptop
SIZES = {"Small": 126, "Medium": 270, "Large": 556}
NEWEST = "newest_offered"


@dataclass(frozen=True)
class Options:
    epoch: int | None  # None: the newest
    offered: list[int]
    pixels: int
    pair: Pair | None = None  # two grids over each other instead


def stored_grids(engine: Engine, compared: Compared) -> dict[str, dict[int, int]]:
    """Per run the attempt that drew each of its grids, by epoch, ascending."""
    return {run_id: queries.grid_attempts(engine, run_id) for run_id in compared.ids}


def controls(engine: Engine, compared: Compared) -> Options:
    """One slider and one size for all runs."""
    stored = _offered(stored_grids(engine, compared))
    mode = pair.mode()
    if mode != "Side by side":
        return Options(None, stored, SIZES["Large"], pair.controls(engine, compared, mode))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        size = st.segmented_control(
            "Size", tuple(SIZES), default="Medium", required=True, key="size", bind="query-params"
        )
        epoch = _slider(stored) if len(stored) > 1 else None
    return Options(epoch, stored, SIZES[size])


def _slider(stored: list[int]) -> int:
    """The epoch for all runs; the latest one is followed."""
    before, newest = st.session_state.get(NEWEST), stored[-1]
    at = st.session_state.get("at", newest)
    if at not in stored or at == before:
        st.session_state["at"] = newest
    st.session_state[NEWEST] = newest
    return st.select_slider(
        "Epoch", stored, value=newest, key="at", bind="query-params", width="stretch"
    )


def _offered(stored: dict[str, dict[int, int]]) -> list[int]:
    return sorted({epoch for own in stored.values() for epoch in own if epoch != REAL_IMAGES})


def draw(engine: Engine, compared: Compared, options: Options) -> None:
    """The tab Images."""
    stored = stored_grids(engine, compared)
    offered = _offered(stored)
    if offered != options.offered:
        st.rerun()  # the slider is outside the part that updates
    if not offered:
        st.caption("None of these runs has saved an image grid yet.")
        return
    if options.pair is not None:
        pair.draw(engine, compared, options.pair)
        return
    epoch, labels = offered[-1] if options.epoch is None else options.epoch, compared.labels()
    with st.container(horizontal=True, gap="small"):
        for run in compared.runs:
            with st.container(width=options.pixels, gap="xsmall"):
                label = formatting.shorten(labels[run.id], options.pixels // 8)
                st.markdown(f"**{formatting.escape(label)}**")
                own = [known for known in stored[run.id] if REAL_IMAGES < known <= epoch]
                if not own:
                    st.caption("No grid up to this epoch.")
                    continue
                when = "Before training" if own[-1] == 0 else f"After epoch {own[-1]}"
                caption = when if own[-1] == epoch else f"{when}, its last before {epoch}"
                _show(engine, run.id, stored[run.id][own[-1]], own[-1], options.pixels, caption)
        _real_images(engine, compared, stored, options.pixels)
    st.caption(
        "Each run generates its grids from fixed latent vectors, so each position shows the same"
        " sample over time. Runs with the same seed and latent_dim share the latent vectors. Epoch"
        " 0 is before training."
    )


def _real_images(
    engine: Engine, compared: Compared, stored: dict[str, dict[int, int]], pixels: int
) -> None:
    """What the images should look like: one grid per data set, from the first run that has one."""
    seen = set()
    for run in compared.runs:
        data = (run.config.get("dataset"), run.config.get("images_path"))
        if data not in seen and REAL_IMAGES in stored[run.id]:
            seen.add(data)
            with st.container(width=pixels, gap="xsmall"):
                st.markdown("**Real images**")
                _show(
                    engine,
                    run.id,
                    stored[run.id][REAL_IMAGES],
                    REAL_IMAGES,
                    pixels,
                    f"Of {run.config.get('dataset')}",
                )


def _show(engine: Engine, run_id: str, attempt: int, epoch: int, pixels: int, caption: str) -> None:
    image = enlarged(engine, str(engine.url), run_id, epoch, attempt)
    if image is not None:
        st.image(image, width=pixels, output_format="PNG", caption=caption, alt=caption)


@st.cache_data(max_entries=64, show_spinner=False)
def enlarged(_engine: Engine, database: str, run_id: str, epoch: int, attempt: int) -> bytes | None:
    """The grid as PNG bytes, enlarged by whole pixels: a browser would blur it. None if it is gone
    by now."""
    grid = queries.grid(_engine, run_id, epoch)
    if grid is None:
        return None
    with Image.open(io.BytesIO(grid.png), formats=["PNG"]) as image:
        factor = max(1, max(SIZES.values()) // image.width)
        buffer = io.BytesIO()
        image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST).save(
            buffer, "PNG", compress_level=1
        )
    return buffer.getvalue()
