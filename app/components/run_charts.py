"""The pictures of a run's page. `controls` are drawn once, outside the part that updates; the rest is drawn anew with every tick."""

from __future__ import annotations

import io
from dataclasses import dataclass

import streamlit as st
from PIL import Image
from sqlalchemy import Engine

from app.components.live_plotly import live_plotly
from app.figures import histograms, losses, path, system
from db import queries, series
from db.models import ENDED, Grid, Run

GRID_PIXELS = 560
EARLIER = 6


@dataclass(frozen=True)
class LossOptions:
    axis: losses.Axis
    smoothing: float
    log_y: bool


def loss_controls(*, default: losses.Axis = "step", key: str = "x") -> LossOptions:
    """X axis, kept in the URL as `key`, smoothing and scale."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        axis = st.segmented_control(
            "X axis", ("step", "epoch"), default=default, required=True, key=key, bind="query-params", format_func=str.capitalize
        )
        smoothing = st.slider(
            "Smoothing",
            0.0,
            losses.MAX_SMOOTHING,
            0.0,
            step=0.001,
            format="%.3f",
            key="smooth",
            bind="query-params",
            width=260,
            help="Weight of the past in the exponential moving average; the raw losses stay behind it. 0 is off, 0.9 a good start.",
        )
        log_y = st.toggle(
            "Log scale", key="log", bind="query-params", help="Logarithmic loss axis. Losses that are not positive are left out."
        )
    return LossOptions("epoch" if axis == "epoch" else "step", smoothing, log_y)


def draw_losses(engine: Engine, run: Run, options: LossOptions) -> None:
    steps = series.step_losses(engine, run.id)
    if steps.empty:
        nothing(run, "The losses appear with the first steps.")
        return
    live_plotly(
        losses.steps(steps, x=options.axis, smoothing=options.smoothing, log_y=options.log_y),
        key=f"steps-{run.id}-{options.axis}-{options.log_y}",
    )
    done = series.epochs_frame(engine, [run.id])
    if not done.empty:
        live_plotly(losses.epochs(done, log_y=options.log_y), key=f"epochs-{run.id}-{options.log_y}")
    st.caption(
        "Mean binary cross-entropy over the batch, in nats, as computed in the training step. A discriminator that only guesses "
        "stands at 2 ln 2 ≈ 1.386, the generator then at ln 2 ≈ 0.693. Long runs show the extremes of neighbouring steps, so spikes stay."
    )


@dataclass(frozen=True)
class ImageOptions:
    epoch: int | None  # None follows the newest
    known: int | None  # the newest grid that the slider offers


def image_controls(engine: Engine, run: Run) -> ImageOptions:
    """Follow the newest grid, or choose one with a slider."""
    stored = queries.grid_epochs(engine, run.id)
    newest = stored[-1] if stored else None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        follow = st.toggle("Follow the newest", value=True, key="follow", bind="query-params")
        if follow or len(stored) < 2:
            return ImageOptions(None, newest)
        chosen = epoch_slider(stored)
    return ImageOptions(chosen, newest)


def epoch_slider(stored: list[int]) -> int:
    """Choose one of the stored epochs, the newest unless the URL says otherwise."""
    if st.session_state.get("at", stored[-1]) not in stored:
        st.session_state["at"] = stored[-1]
    return st.select_slider("Epoch", stored, value=stored[-1], key="at", bind="query-params", width="stretch")


def draw_images(engine: Engine, run: Run, options: ImageOptions) -> None:
    stored = queries.grid_epochs(engine, run.id)
    if not stored:
        nothing(run, "The first grid appears before the first step.")
        return
    if options.epoch is not None and stored[-1] != options.known:
        st.rerun()  # the slider stands outside the part that updates, and now has one epoch more to offer
    epoch = stored[-1] if options.epoch is None else options.epoch
    large, small = st.columns([3, 2], gap="large")
    with large:
        _show_grid(engine, run.id, epoch, GRID_PIXELS)
        st.caption(
            "Drawn by the generator from the same latent vectors every time, so each picture grows in its place. "
            "Epoch 0 is before training."
        )
    with small:
        shown = [stored[i * (len(stored) - 1) // max(1, EARLIER - 1)] for i in range(EARLIER)]
        epochs = list(dict.fromkeys(shown))
        for start in range(0, len(epochs), 2):
            for column, earlier in zip(st.columns(2), epochs[start : start + 2], strict=False):
                with column:
                    _show_grid(engine, run.id, earlier, "stretch")


def _show_grid(engine: Engine, run_id: str, epoch: int, width: int | str) -> None:
    grid = queries.grid(engine, run_id, epoch)
    if grid is not None:
        caption = "Before training" if epoch == 0 else f"After epoch {epoch}"
        st.image(enlarged(grid), caption=caption, width=width, output_format="PNG")  # type: ignore[arg-type]


def enlarged(grid: Grid) -> bytes:
    """The grid as PNG bytes, enlarged by whole pixels: a browser would blur it."""
    with Image.open(io.BytesIO(grid.png)) as image:
        factor = max(1, GRID_PIXELS // image.width)
        buffer = io.BytesIO()
        image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def draw_histograms(engine: Engine, run: Run) -> None:
    done = series.epochs_frame(engine, [run.id])
    spread = {net: series.loss_histograms(engine, run.id, net=net) for net in ("g", "d")}
    if not any(counts.any() for _, _, counts in spread.values()):
        nothing(run, "The histograms appear with the first steps.")
        return
    for net, (epochs, edges, counts) in spread.items():
        means = done[f"{net}_loss"].to_numpy()
        live_plotly(
            histograms.density(epochs, edges, counts, net=net, mean_epochs=done["epoch"].to_numpy(), means=means),
            key=f"histogram-{net}-{run.id}",
        )
    st.caption("Each column is one epoch: how its steps spread over the losses, darker or lighter by their share. The line is the mean.")


def path_controls() -> int:
    """Two or three dimensions."""
    chosen = st.segmented_control("View", ("3-D", "2-D"), default="3-D", required=True, key="dim", bind="query-params")
    return 2 if chosen == "2-D" else 3


def draw_path(engine: Engine, run: Run, dimensions: int) -> None:
    done = series.epochs_frame(engine, [run.id])
    if done.empty:
        nothing(run, "The path begins with the first finished epoch.")
        return
    for column, (net, name) in zip(st.columns(2), (("g", "Generator"), ("d", "Discriminator")), strict=True):
        with column:
            st.markdown(f"**{name}**")
            live_plotly(path.descent(done, net=net, dimensions=dimensions), key=f"path-{net}-{dimensions}-{run.id}")
    st.caption(
        "Where training carried the weights: their difference from the start, projected on two random directions that "
        "follow from the seed, so the axes never turn. Height (or colour) is the mean loss of the epoch. Axes grow in steps."
    )


def draw_system(engine: Engine, run: Run) -> None:
    samples = series.samples_frame(engine, run.id)
    if samples.empty:
        nothing(run, "Samples of processors and memory appear every few seconds while it trains.")
        return
    live_plotly(system.load(samples), key=f"load-{run.id}")
    live_plotly(system.memory(samples), key=f"memory-{run.id}")
    st.caption("Measured by the trainer every few seconds. Processors and memory are shares of the whole machine, other programs included.")


def nothing(run: Run, sentence: str) -> None:
    """Why a tab is empty: what will appear, or that nothing ever will."""
    st.caption("Nothing was recorded." if run.status in ENDED else sentence)
