"""The quality of several runs side by side: over seconds and over epochs, how good each became, and how soon it was good enough."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from app import text
from app.components.comparison import Compared
from app.components.live_plotly import live_plotly
from app.components.run_quality import CAPTION, best, seconds_to, threshold_control
from app.figures import compare, quality
from app.theme.palette import run_colours
from db import series
from gan.events import QUALITY


@dataclass(frozen=True)
class Options:
    measure: str
    fid: float | None  # the distance to be reached


def controls(engine: Engine, compared: Compared) -> Options | None:
    frame = series.quality_frame(engine, compared.ids)
    if frame.empty:
        return None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        measure = st.selectbox(
            "Measure",
            tuple(QUALITY),
            key="measure",
            bind="query-params",
            format_func=quality.WORDS.__getitem__,
            filter_mode=None,
            width=180,
        )
        return Options(measure, threshold_control(frame))


def draw(engine: Engine, compared: Compared, options: Options | None) -> None:
    """The tab Quality."""
    everything = series.quality_frame(engine, compared.ids)
    if everything.empty:
        st.caption("None of these runs has been judged: set quality_every before the start.")
        return
    if options is None:
        st.rerun()  # the controls stand outside the part that updates, and were left out while there was nothing to control
    frames = {run_id: everything[everything["run_id"] == run_id] for run_id in compared.ids}
    st.caption(f"{quality.WORDS[options.measure]}: {text.escape(QUALITY[options.measure])}")
    axes: tuple[tuple[quality.Axis, str], ...] = (("training_seconds", "Over seconds of training"), ("epoch", "Over epochs"))
    for column, (axis, heading) in zip(st.columns(2), axes, strict=True):
        with column:
            st.markdown(f"**{heading}**")
            plot = compare.quality(compared.series(), frames, measure=options.measure, x=axis)
            live_plotly(plot, key=f"compare-quality-{options.measure}-{axis}")
    _table(compared, frames, options.fid)
    st.caption(f"{CAPTION} Time is that of the training steps alone; the ratio is to the baseline run, less is better.")


def _table(compared: Compared, frames: dict[str, pd.DataFrame], fid: float | None) -> None:
    labels, colours = compared.labels(), run_colours(compared.ids)
    reached = {run_id: seconds_to(frame, fid) for run_id, frame in frames.items()}
    base, goal = reached[compared.baseline.id], "Time to FID" if fid is None else f"Time to FID {fid:g}"
    rows = []
    for run in compared.runs:
        frame, seconds = frames[run.id], reached[run.id]
        lowest = best(frame)
        rows.append(
            {
                "": "■",
                "Run": labels[run.id],
                "Best FID": text.decimal(lowest.fid if lowest else None, 2),
                "After epoch": text.integer(lowest.epoch if lowest else None),
                "After": text.duration(lowest.training_seconds if lowest else None),
                goal: text.duration(seconds) if seconds is not None else "not reached" if len(frame) and fid is not None else "–",
                "Ratio": f"{seconds / base:.2f}×" if seconds is not None and base else "–",
                "Baseline": "●" if run.id == compared.baseline.id else "",
            }
        )
    chips = [f"color: {colours[run.id]}; font-size: 1.3em" for run in compared.runs]
    st.dataframe(
        pd.DataFrame(rows).style.apply(lambda _: chips, subset=[""]),
        hide_index=True,
        height="content",
        key="quality",
        column_config={
            "": st.column_config.TextColumn(width=30, help="Colour of the run in every figure"),
            "After": st.column_config.TextColumn(help="Seconds of training until its best FID"),
        },
    )
