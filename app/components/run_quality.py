"""How good a run's images are, over epochs or seconds, and how soon they were good enough. Distances are in a classifier's features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from app import text
from app.components.live_plotly import Chart
from app.components.run_cache import by_epoch
from app.components.run_charts import axis_control, events_control, events_if, nothing
from app.components.run_status import tiles
from app.figures import quality
from db import series
from db.models import Run
from gan.events import QUALITY
from gan.quality.metrics import seconds_to_quality

CAPTION = (
    "Judged in the features of a small classifier trained on the same data set: these are not Inception scores, and numbers of different "
    "data sets cannot be compared."
)


@dataclass(frozen=True)
class QualityOptions:
    axis: quality.Axis
    fid: float | None  # the distance to be reached
    log_y: bool
    events: bool


@dataclass(frozen=True)
class Best:
    """The lowest FID of a run, and when it was reached."""

    fid: float
    epoch: int
    training_seconds: float


def best(frame: pd.DataFrame) -> Best | None:
    """Of one run's `db.series.quality_frame`; None without a finite FID."""
    finite = frame[frame["fid"].abs() < math.inf].sort_values("fid", kind="stable")
    if finite.empty:
        return None
    row = finite.iloc[0]
    return Best(float(row["fid"]), int(row["epoch"]), float(row["training_seconds"]))


def threshold_control(frame: pd.DataFrame) -> float | None:
    """The FID to be reached, kept in the URL as `goal`; at first a tenth above the best of `frame`, rounded up."""
    return st.number_input(
        "FID to reach",
        min_value=0.0,
        value=suggested(frame),
        format="%g",
        placeholder="such as 20",
        key="goal",  # the list of runs has a `fid` of its own, which is empty at first
        bind="query-params",
        width=180,
        help="Training time until a judgement first found the distance at or below this: late by one interval at most, never early.",
    )


def suggested(frame: pd.DataFrame) -> float | None:
    """A threshold that the best run reaches, 1.1 times its FID rounded up to two digits; None before the first judgement."""
    lowest = best(frame)
    if lowest is None or lowest.fid <= 0:
        return None
    unit = 10.0 ** (math.floor(math.log10(1.1 * lowest.fid)) - 1)
    return round(math.ceil(1.1 * lowest.fid / unit) * unit, 10)


def seconds_to(frame: pd.DataFrame, fid: float | None) -> float | None:
    """Seconds of training until the FID of one run's `db.series.quality_frame` was at most `fid`; None if it never was."""
    if fid is None or frame.empty:
        return None
    return seconds_to_quality(frame["training_seconds"], frame["fid"], fid)


def controls(engine: Engine, run: Run) -> QualityOptions | None:
    frame = series.quality_frame(engine, [run.id])
    if frame.empty:
        return None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        axis, fid = axis_control(key="over", default="epoch"), threshold_control(frame)
        log_y = st.toggle("Log y", key="logq", bind="query-params", help="Logarithmic axes; what is not positive is left out.")
        return QualityOptions(axis, fid, log_y, events_control())


def draw(engine: Engine, run: Run, options: QualityOptions | None) -> None:
    """The tab Quality."""
    frame = series.quality_frame(engine, [run.id])
    if frame.empty:
        every = min(int(run.config.get("quality_every", 0)), int(run.config["epochs"]))
        nothing(run, f"The first judgement comes after epoch {every}." if every else "This run is not judged: its quality_every is 0.")
        return
    if options is None:
        st.rerun()  # the controls stand outside the part that updates, and were left out while there was nothing to control
    _figures(run, frame, options.fid)
    charts = by_epoch(engine, run, "quality", (options, run.facts.get("class_shares")), lambda: _charts(engine, run, frame, options))
    for start in range(0, len(quality.CHARTS), 2):
        for column, index in zip(st.columns(2), range(start, len(quality.CHARTS)), strict=False):
            with column:
                names = quality.CHARTS[index]
                st.markdown("  \n".join(f"**{quality.WORDS[name]}** :gray[{text.escape(QUALITY[name])}]" for name in names))
                charts[index].show()
    st.markdown(f"**Classes of the images after epoch {frame.iloc[-1]['epoch']}**")
    charts[-1].show()
    st.caption(f"{CAPTION} {int(run.config['quality_images']):,} generated images against as many real ones; higher is better unless said.")


def _charts(engine: Engine, run: Run, frame: pd.DataFrame, options: QualityOptions) -> list[Chart]:
    events = events_if(engine, run, options.events)
    charts = []
    for names in quality.CHARTS:
        plot = quality.course(frame, names, x=options.axis, log_y=options.log_y, events=events)
        charts.append(Chart.of(plot, f"quality-{names[0]}-{run.id}-{options.axis}-{options.log_y:d}"))
    shares = quality.classes(frame.iloc[-1]["histogram"], run.facts.get("class_shares"))
    return [*charts, Chart.of(shares, f"classes-{run.id}")]


def _figures(run: Run, frame: pd.DataFrame, fid: float | None) -> None:
    lowest, newest, reached = best(frame), frame.iloc[-1], seconds_to(frame, fid)
    judging = float(frame["seconds"].sum())
    entries = (
        ("Best FID", text.decimal(lowest.fid if lowest else None, 2), f"After epoch {lowest.epoch}." if lowest else "None was finite."),
        ("Newest FID", text.decimal(newest["fid"], 2), f"After epoch {newest['epoch']}. {QUALITY['fid']}."),
        (
            "Seconds to FID" if fid is None else f"Time to FID {fid:g}",
            "not reached" if reached is None and fid is not None else text.duration(reached),
            "Training time when a judgement first found the distance at or below this; compiling and judging are not in it.",
        ),
        ("Judging took", text.duration(judging), f"{text.plural(len(frame), 'judgement')}, outside the training time."),
        ("Share of the time", text.share(judging / (judging + run.seconds)), "Judging, as a share of training and judging."),
    )
    tiles(entries)
