"""The quality of several runs over each other, how good each became, and how soon it was good
enough."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app import navigation
from ganboard.app.compare import curves
from ganboard.app.compare.comparison import Compared, by_run, runs_table
from ganboard.app.run.charts import axis_control
from ganboard.app.run.quality import CAPTION, best, caption, seconds_to, threshold_control
from ganboard.app.run.requested import evaluation
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db.curves import series
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import recorded
from ganboard.worker import formatting
from ganboard.worker.figures.palette import run_swatch
from ganboard.worker.figures.template import Axis


@dataclass(frozen=True)
class Options:
    measure: str
    axis: Axis
    headline: str  # of the baseline's model
    goal: float | None  # the headline to be reached
    log_y: bool


def controls(engine: Engine, compared: Compared) -> Options | None:
    """Which runs are not evaluated, then how to draw those that are."""
    evaluation.of_runs(navigation.context(), compared.runs)
    frame = series.quality_frame(engine, compared.ids, METRICS)
    if frame.empty:
        return None
    headline = compared.headline(frame)
    among = [run.id for run in compared.comparable(headline)]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        measure = st.selectbox(
            "Measure",
            tuple(name for name in METRICS if frame[name].notna().any()),
            key="measure",
            bind="query-params",
            format_func=lambda name: METRICS[name].label,
            filter_mode=None,
            width=180,
        )
        axis = axis_control(key="over", default="training_seconds")
        log_y = st.toggle(
            "Log y",
            key="logq",
            bind="query-params",
            help="Logarithmic axis; values that are not positive are omitted.",
        )
        goal = threshold_control(frame[frame["run_id"].isin(among)], headline)
        return Options(measure, axis, headline, goal, log_y)


def draw(engine: Engine, compared: Compared, options: Options | None) -> None:
    """The tab Quality."""
    everything = series.quality_frame(engine, compared.ids, METRICS)
    if everything.empty:
        return
    if options is None:
        # the controls are outside the part that updates, and absent without evaluations
        st.rerun()
    frames = by_run(compared, everything)
    title = compared.called(options.measure)
    st.markdown(f"**{title}** :gray[{formatting.escape(METRICS[options.measure].meaning)}]")
    if sentence := compared.conflict(options.measure):
        st.caption(
            f":material/info: {formatting.escape(sentence)} Only runs with"
            f" {compared.source.label} features are drawn and ranked."
        )
    among = {run.id for run in compared.comparable(options.measure)}
    plot = curves.quality(
        compared, among, frames, options.measure, x=options.axis, log_y=options.log_y, title=title
    )
    live_plotly(plot, key=f"compare-quality-{options.measure}-{options.axis}-{options.log_y:d}")
    _table(compared, frames, options.headline, options.goal)
    evaluated = [run for run in compared.runs if len(frames[run.id])]
    how = caption(compared.baseline if compared.baseline in evaluated else evaluated[0])
    st.caption(
        f"{how} {CAPTION} Time is training time only; ratios are relative to the baseline run,"
        " lower is better."
    )
    if (
        len({(run.config.get("dataset"), run.config.get("images_path")) for run in compared.runs})
        > 1
    ):
        st.caption(
            ":material/info: These runs use different data sets: their metrics cannot be compared."
        )


def _table(
    compared: Compared, frames: dict[str, pd.DataFrame], measure: str, wanted: float | None
) -> None:
    labels, word = compared.labels(), compared.called(measure)
    among = {run.id for run in compared.comparable(measure)}
    none = frames[compared.baseline.id].iloc[:0]
    evaluated = {run_id for run_id, frame in frames.items() if len(frame)}
    frames = {run_id: frame if run_id in among else none for run_id, frame in frames.items()}
    reached = {run_id: seconds_to(frame, wanted, measure) for run_id, frame in frames.items()}
    base, goal = (
        reached[compared.baseline.id],
        (f"Time to {word}" if wanted is None else f"Time to {word} {wanted:g}"),
    )
    rows = []
    for run in compared.runs:
        frame, seconds = frames[run.id], reached[run.id]
        lowest = best(frame, measure)
        rows.append(
            {
                "": run_swatch(run.number),
                "Run": labels[run.id],
                f"Best {word}": formatting.decimal(
                    lowest.value if lowest else None, METRICS[measure].digits
                ),
                "After epoch": formatting.integer(lowest.epoch if lowest else None),
                "After": formatting.duration(lowest.training_seconds if lowest else None),
                goal: (
                    formatting.duration(seconds)
                    if seconds is not None
                    else "not reached"
                    if len(frame) and wanted is not None
                    else "–"
                ),
                "Features": recorded(run.facts).label if run.id in evaluated else "–",
                "Ratio": f"{seconds / base:.2f}×" if seconds is not None and base else "–",
                "Baseline": "●" if run.id == compared.baseline.id else "",
            }
        )
    meanings = {
        f"Best {word}": METRICS[measure].meaning,
        "After": "Training seconds until the best evaluation",
        goal: "Training seconds until an evaluation first reached this value",
        "Features": "The features that the run was evaluated with",
        "Ratio": "Ratio of that time to the baseline's",
    }
    runs_table(rows, key="quality", meanings=meanings)
