"""Time and rates on a run's page: where the seconds went, how fast the steps are,
what the learning rates did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.run.cache import by_epoch, by_step
from ganboard.app.run.charts import axis_control, events_control, events_if, nothing
from ganboard.app.run.status import tiles
from ganboard.app.widgets.live_plotly import Chart
from ganboard.db.curves import series
from ganboard.db.models import Run
from ganboard.gan.events import FACTS, MEASURES, SERIES, UNLISTED
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.figures import rates, timings
from ganboard.worker.figures.template import Axis
from ganboard.worker.studies.remedies import remedy
from ganboard.worker.tensorboard import profile

# how each number was obtained; what it is says gan.events.MEASURES
_HOW = {
    "step_p50": "Over the steps of the latest epoch; with several replicas, of the slowest one.",
    "step_p95": "Over the steps of the latest epoch; with several replicas, of the slowest one.",
    "step_max": "The longest step of the latest epoch.",
    "gflops": (
        "The operations of direct convolutions and one backward pass per loss, counted from the"
        " layer shapes, divided by the measured training time. Algorithms that need fewer"
        " operations are credited with the same count and so reach higher values."
    ),
    "peak_share": (
        "GFLOP/s relative to large matrix products on this machine in the same precision. It"
        " exceeds 100 % where the step needs fewer operations than are counted."
    ),
    "peak_memory_bytes": (
        "As reported by the operating system or the GPU allocator at the end of the latest epoch."
    ),
    "reduce_bytes": (
        "From the number of parameters, for a ring all-reduce: 2 (p - 1) / p times the float32"
        " gradients."
    ),
}
_SHORT = {
    "step_p50": "Step, median",
    "step_p95": "Step, 95 %",
    "step_max": "Longest step",
    "gflops": "GFLOP/s",
    "peak_share": "Share of peak",
    "peak_memory_bytes": "Peak memory",
    "reduce_bytes": "All-reduce per step",
}


@dataclass(frozen=True)
class CourseOptions:
    """How curves over the course of a run are drawn."""

    axis: Axis
    events: bool
    log_x: bool = False


def controls() -> CourseOptions:
    """The x axis of the tab Timings."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        return CourseOptions(axis_control(key="when", default="epoch"), events_control())


def draw(context: Context, run: Run, options: CourseOptions) -> None:
    """The tab Timings."""
    engine = context.engine
    if run.config.get("profile_steps"):
        _profile(context, run)
    measures, charts = by_epoch(
        engine, run, "timings", options, lambda: _charts(engine, run, options)
    )
    if measures.empty:
        nothing(run, "Timings appear after the first epoch.")
        return
    names = [name for name in measures if name in MEASURES]
    if names:
        newest = measures[names].dropna(how="all").iloc[-1].dropna()
        _newest({name: float(newest[name]) for name in names if name in newest})
    st.markdown("**Seconds per epoch by activity**")
    charts[0].show()
    shares = timings.shares(measures)
    st.caption(_where(shares))
    if shares:
        name = timings.bottleneck(shares)
        advice = remedy(name, run)
        st.caption(
            f"**Bottleneck**: {MEASURES[name].lower()}, {formatting.share(shares[name])}. {advice}"
        )
    if "step_p50" in names:
        st.markdown("**Seconds per step**")
        charts[1].show()
    st.markdown("**Images per second**")
    charts[2].show()
    st.caption(
        "Real images per second of the training steps, without compilation, evaluation,"
        " checkpoints and image grids."
    )
    if run.facts:
        st.markdown("**Facts measured by the trainer**")
        _facts(run)
    if names:
        with st.expander("All metrics of all epochs"):
            current = measures[["epoch", *names]].rename(columns={"epoch": "Epoch", **MEASURES})
            st.dataframe(current, hide_index=True, key=f"measures-{run.id}")


def _profile(context: Context, run: Run) -> None:
    """The files of its profiler traces, for the programs that open them."""
    found = profile.files(context, run.id)
    wanted = run.config["profile_steps"]
    if not found:
        st.caption(
            f"profile_steps={wanted}: no profiler trace on this machine. It is recorded on the"
            " machine that trains; the log says when."
        )
        return
    with st.expander(f"Profiler trace, profile_steps={wanted}"):
        sizes = [(one.name, formatting.size(one.size)) for one in found]
        st.dataframe(
            pd.DataFrame(sizes, columns=["File", "Size"]),
            hide_index=True,
            height="content",
            key=f"profile-{run.id}",
        )
        with st.container(horizontal=True):
            st.link_button(
                "For TensorBoard",
                f"/api/runs/{run.id}/profile.zip",
                key="profile_zip",
                icon=":material/download:",
                help="All files. Unpack them and run tensorboard --logdir on the folder; the tab"
                " Profile needs the package tensorboard-plugin-profile.",
            )
            st.link_button(
                "For Perfetto",
                f"/api/runs/{run.id}/trace.json.gz",
                key="profile_timeline",
                icon=":material/download:",
                help="Chrome's trace events. Open the file in ui.perfetto.dev, which reads it in"
                " the browser, or in chrome://tracing.",
            )


def _charts(engine: Engine, run: Run, options: CourseOptions) -> tuple[pd.DataFrame, list[Chart]]:
    done, measures = series.epochs_frame(engine, [run.id]), series.measures_frame(engine, [run.id])
    if done.empty:
        return measures, []
    both, events = (
        done.merge(measures, on=["run_id", "epoch"]),
        events_if(engine, run, options.events),
    )
    return measures, [
        Chart.of(timings.seconds(both), f"seconds-{run.id}"),
        Chart.of(
            timings.steps(both, x=options.axis, events=events), f"per-step-{run.id}-{options.axis}"
        ),
        Chart.of(
            timings.throughput(done, x=options.axis, events=events),
            f"throughput-{run.id}-{options.axis}",
        ),
    ]


def _newest(values: Mapping[str, float]) -> None:
    current = [
        name for name in _SHORT if name in values and (name != "reduce_bytes" or values[name])
    ]
    if current:
        tiles(
            [
                (_SHORT[name], _value(name, values[name]), f"{MEASURES[name]}. {_HOW[name]}")
                for name in current
            ]
        )


def _value(name: str, value: float) -> str:
    if name.startswith("step_"):
        return formatting.duration(value)
    if name.endswith("_bytes"):
        return formatting.size(value)
    return formatting.share(value) if name.endswith("_share") else formatting.decimal(value, 1)


def _where(shares: Mapping[str, float]) -> str:
    if not shares:
        return (
            "Wall-clock time of an epoch's training steps over all attempts; tracing and"
            " compilation are measured separately and stacked on top."
        )
    parts = "; ".join(
        f"{MEASURES[name]}: {formatting.share(share)}" for name, share in shares.items() if share
    )
    return (
        f"Wall-clock time over all epochs: {parts}. Tracing and compilation are measured"
        " separately and stacked on top. Waiting and all-reduce are timed inside the step;"
        " computing is the remainder. After a restart, an epoch's parts are those of its last"
        " attempt."
    )


def _facts(run: Run) -> None:
    known = [
        name for name in FACTS if name in run.facts and name not in UNLISTED
    ]  # in the order of their explanations: PostgreSQL keeps none
    names = [*known, *sorted(set(run.facts) - set(known) - UNLISTED)]
    rows = [(FACTS.get(name, name), formatting.fact(name, run.facts[name])) for name in names]
    st.dataframe(
        pd.DataFrame(rows, columns=["Fact", "Value"]),
        hide_index=True,
        height="content",
        key=f"facts-{run.id}",
    )


def rate_controls() -> CourseOptions:
    """The x axis of the tab Rates."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        axis = axis_control(key="along")
        log_x = st.toggle(
            "Log x",
            key="logx",
            bind="query-params",
            help="Logarithmic x axis; not available for the wall clock.",
            disabled=axis == "time",
        )
        return CourseOptions(axis, events_control(), log_x and axis != "time")


def draw_rates(engine: Engine, run: Run, options: CourseOptions) -> None:
    """The tab Rates."""

    def chart() -> Chart | None:
        frame = series.step_series(engine, run.id, list(SERIES))
        if frame.empty:
            return None
        plot = rates.rates(
            frame,
            x=options.axis,
            log_x=options.log_x,
            events=events_if(engine, run, options.events),
        )
        return Chart.of(plot, f"rates-{run.id}-{options.axis}-{options.log_x:d}")

    found = by_step(engine, run, "rates", options, chart)
    if found is None:
        nothing(run, "The learning rates appear with the first steps.")
        return
    found.show()
    st.caption(
        "Dashed: the learning rate set by schedule, warm-up and batch scaling. Solid: the"
        " effective rate of the optimizer, which is the RMS of the update divided by the RMS of"
        " the gradient; for SGD without momentum both are equal. Long runs show the extremes of"
        " neighbouring steps."
    )
