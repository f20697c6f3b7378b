"""The images of a run, epoch by epoch, in a player that needs the server for nothing but the
pictures themselves."""

from __future__ import annotations

from pathlib import Path

import orjson
import streamlit as st
from sqlalchemy import Engine

from ganboard.app import navigation
from ganboard.app.run.charts import nothing
from ganboard.app.run.quality import best
from ganboard.app.run.wall import of_run
from ganboard.app.wall.widget import LATENT_CSS, LATENT_HTML, LATENT_JS
from ganboard.db.curves import grids, series
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import has_latent_space
from ganboard.gan.events import REAL_IMAGES
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import recorded
from ganboard.worker.figures import quality

_HERE = Path(__file__)
_mount = st.components.v2.component(
    "ganboard_grid_player",
    html=_HERE.with_name("player.html")
    .read_text()
    .replace("</section>", f"{LATENT_HTML}</section>"),
    css=_HERE.with_name("player.css").read_text() + LATENT_CSS,
    js=LATENT_JS + _HERE.with_name("player.js").read_text(),
)


def grid_url(run_id: str, epoch: int, attempt: int) -> str:
    """Where the browser finds a grid; the attempt makes it the address of one picture for good."""
    return f"/api/runs/{run_id}/grids/{epoch}.png?attempt={attempt}"


def draw(engine: Engine, run: Run) -> None:
    """The tab Images."""
    stored = queries.grid_attempts(engine, run.id)
    epochs = [epoch for epoch in stored if epoch >= 0]
    if not epochs:
        nothing(run, "The first grid appears before the first step.")
        return
    evaluated = series.quality_frame(engine, [run.id], METRICS)
    measure = quality.headline(run.config)
    lowest = best(evaluated[evaluated["epoch"].isin(epochs)], measure)
    word = METRICS[measure].called(recorded(run.facts))
    wall = of_run(engine, run, evaluated)
    data = {
        "run": run.id,
        "frames": [
            {"epoch": epoch, "url": grid_url(run.id, epoch, stored[epoch])} for epoch in epochs
        ],
        "best": (
            None
            if lowest is None
            else {
                "epoch": lowest.epoch,
                "words": f"{word} {lowest.value:.{METRICS[measure].digits}f}",
            }
        ),
        "real": (
            grid_url(run.id, REAL_IMAGES, stored[REAL_IMAGES]) if REAL_IMAGES in stored else None
        ),
        "start": start_epoch(epochs),
        "wall": wall,
        "layout": grids.stored(engine, [run.id])[run.id][-1],
    }
    _mount(key=f"player-{run.id}", data=orjson.dumps(data))
    if run.external:
        st.caption("As the script made them. Epoch 0 is before training.")
        return
    latents = has_latent_space(run.config)
    st.caption(
        f"Generated from the same {'latent vectors' if latents else 'inputs'} every time, so each"
        " position shows the same sample over time. Epoch 0 is before training."
    )
    if latents:
        st.page_link(
            navigation.PLAYGROUND_PAGE,
            label="Generate new images",
            icon=":material/palette:",
            query_params={"run": run.id},
            help=("The playground generates and interpolates images with stored checkpoints."),
        )


def start_epoch(epochs: list[int]) -> int | None:
    """The epoch that `?at=` names, if there is a grid of it; None follows the newest."""
    asked = st.query_params.get("at", "")
    return next((epoch for epoch in epochs if str(epoch) == asked), None)
