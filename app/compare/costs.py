"""What each of several runs cost: bars of time, speed and memory with their ratio to the baseline,
and where the time went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.compare.comparison import Compared, by_run
from ganboard.app.run import devices
from ganboard.app.run.quality import seconds_to, threshold_control
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db.curves import series
from ganboard.gan.quality.declared import METRICS
from ganboard.worker.comparison import stored
from ganboard.worker.figures import compare, timings


@dataclass(frozen=True)
class Bars:
    """One chart of bars."""

    title: str
    unit: str
    digits: int
    less_is_better: bool
    factor: float = 1.0


SECONDS = Bars("Seconds per epoch", "Time per epoch (s)", 2, True)
RATE = Bars("Images per second", "Throughput (images/s)", 0, False)
REACHED = Bars("Seconds to {} {:g}", "Training time (s)", 1, True)
MEASURED = {  # by name in gan.events.MEASURES
    "peak_memory_bytes": Bars("Peak memory", "Memory (MiB)", 0, True, 2.0**-20),
    "step_p50": Bars("Median step", "Time per step (ms)", 1, True, 1e3),
    "gflops": Bars("GFLOP/s in convolutions and products", "Speed (GFLOP/s)", 1, False),
    "reduce_bytes": Bars("All-reduce per step and replica", "Data (MB)", 2, True, 1e-6),
}


@dataclass(frozen=True)
class Options:
    evaluated: bool  # there is something to choose from
    headline: str  # measure of quality of the baseline's model
    goal: float | None  # the headline to be reached, the same as in the tab Quality


def controls(engine: Engine, compared: Compared) -> Options:
    frame = series.quality_frame(engine, compared.ids, METRICS)
    headline = compared.headline(frame)
    among = [run.id for run in compared.comparable(headline)]
    same = frame[frame["run_id"].isin(among)]
    return Options(
        not frame.empty, headline, None if frame.empty else threshold_control(same, headline)
    )


def draw(engine: Engine, compared: Compared, options: Options) -> None:
    """The tab Timings."""
    speed = stored.medians(series.speeds(engine, compared.ids))
    if all(seconds is None for seconds, _ in speed.values()):
        st.caption("None of these runs has finished an epoch yet.")
        return
    quality, measures = (
        series.quality_frame(engine, compared.ids, METRICS),
        series.measures_frame(engine, compared.ids),
    )
    if options.evaluated == quality.empty:
        # the threshold is outside the part that updates, and absent without evaluations
        st.rerun()
    charts: list[tuple[Bars, Mapping[str, float | None], Mapping[str, str]]] = [
        (SECONDS, {run_id: pair[0] for run_id, pair in speed.items()}, {}),
        (RATE, {run_id: pair[1] for run_id, pair in speed.items()}, {}),
    ]
    goal = options.goal
    if goal is not None:
        frames = by_run(compared, quality)
        among = {run.id for run in compared.comparable(options.headline)}
        why = {
            run_id: "not evaluated"
            if frame.empty
            else "not reached"
            if run_id in among
            else "other features"
            for run_id, frame in frames.items()
        }
        charts.append(
            (
                REACHED,
                {
                    run_id: seconds_to(frame, goal, options.headline) if run_id in among else None
                    for run_id, frame in frames.items()
                },
                why,
            )
        )
    for name, bars in MEASURED.items():
        values = (
            {run_id: value for run_id, value in medians(measures, name).items() if value > 0}
            if name in measures
            else {}
        )
        if values:
            charts.append(
                (bars, {run_id: bars.factor * value for run_id, value in values.items()}, {})
            )
    for start in range(0, len(charts), 2):
        for column, (bars, format_value, absent) in zip(
            st.columns(2), charts[start : start + 2], strict=False
        ):
            with column:
                title = bars.title.format(compared.called(options.headline), goal)
                st.markdown(
                    f"**{title}** :gray[{'less' if bars.less_is_better else 'more'} is better]"
                )
                plot = compare.bars(
                    compared.series(),
                    format_value,
                    unit=bars.unit,
                    baseline=compared.baseline.id,
                    digits=bars.digits,
                    absent=absent,
                )
                live_plotly(plot, key=f"compare-bars-{bars.title}-{len(compared.runs)}")
    devices.compare(engine, compared.runs, compared.labels())
    shares = {run_id: timings.shares(rows) for run_id, rows in by_run(compared, measures).items()}
    if any(shares.values()):
        st.markdown("**Where the time went**")
        live_plotly(
            compare.parts(compared.series(), shares), key=f"compare-parts-{len(compared.runs)}"
        )
    st.caption(
        "Medians over the finished epochs, without compilation; ratios are relative to the"
        " baseline run. Time to an FID is the training time until an evaluation first reached it."
        " Memory is the peak reported by the operating system or the GPU allocator."
    )


def medians(measures: pd.DataFrame, name: str) -> dict[str, float]:
    """Median over the epochs of one column of `db.curves.series.measures_frame`, by run id; runs
    without it are left out."""
    return {
        str(run_id): float(value)
        for run_id, value in measures.groupby("run_id")[name].median().dropna().items()
    }
