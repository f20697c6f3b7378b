"""How good a run's images are, over epochs or seconds, and how soon they were good enough.
Distances are in a classifier's features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.run.cache import by_epoch
from ganboard.app.run.charts import axis_control, events_control, events_if
from ganboard.app.run.requested import evaluation
from ganboard.app.run.status import tiles
from ganboard.app.widgets.live_plotly import Chart
from ganboard.db.curves import series
from ganboard.db.models import ENDED, Run
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.quality.declared import charts as charts_of
from ganboard.gan.quality.metrics import seconds_to_quality
from ganboard.gan.settings import registry
from ganboard.gan.settings.features import recorded
from ganboard.gan.settings.validation import Validation
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.figures import quality, validation

CAPTION = "Values for different data sets or features cannot be compared."


@dataclass(frozen=True)
class QualityOptions:
    axis: quality.Axis
    goal: float | None  # the headline to be reached
    log_y: bool
    events: bool


@dataclass(frozen=True)
class Best:
    """The lowest headline of a run, and when it was reached."""

    value: float
    epoch: int
    training_seconds: float


def best(frame: pd.DataFrame, measure: str = "fid") -> Best | None:
    """Of one run's `db.curves.series.quality_frame`; None without a finite `measure`."""
    finite = frame[frame[measure].abs() < math.inf].sort_values(measure, kind="stable")
    if finite.empty:
        return None
    row = finite.iloc[0]
    return Best(float(row[measure]), int(row["epoch"]), float(row["training_seconds"]))


def caption(run: Run) -> str:
    """How the run was evaluated, in sentences."""
    model = quality.model_of(run.config)
    by_features = METRICS[quality.headline(run.config)].by_features
    said = f"{recorded(run.facts).description} " if by_features else ""
    return said + registry.get(model).spec.quality


def threshold_control(frame: pd.DataFrame, measure: str) -> float | None:
    """The headline to be reached, kept in the URL as `goal`; at first a tenth above the best of
    `frame`, rounded up."""
    return st.number_input(
        f"{METRICS[measure].label} to reach",
        min_value=0.0,
        value=suggested(frame, measure),
        format="%g",
        placeholder="such as 20",
        key="goal",  # the list of runs has a `fid` of its own, which is empty at first
        bind="query-params",
        width=180,
        help=(
            "Training time until an evaluation first reached this value: at most one interval"
            " late, never early."
        ),
    )


def suggested(frame: pd.DataFrame, measure: str = "fid") -> float | None:
    """A threshold that the best run reaches, 1.1 times its headline rounded up to two digits; None
    before the first evaluation."""
    lowest = best(frame, measure)
    if lowest is None or lowest.value <= 0:
        return None
    unit = 10.0 ** (math.floor(math.log10(1.1 * lowest.value)) - 1)
    return round(math.ceil(1.1 * lowest.value / unit) * unit, 10)


def seconds_to(frame: pd.DataFrame, goal: float | None, measure: str = "fid") -> float | None:
    """Seconds of training until the headline of one run's `db.curves.series.quality_frame` was at
    most `goal`; None if it never was."""
    if goal is None or frame.empty:
        return None
    return seconds_to_quality(frame["training_seconds"], frame[measure], goal)


def controls(context: Context, run: Run) -> QualityOptions | None:
    """What is not evaluated, then how to draw what is."""
    evaluation.of_run(context, run)
    frame = series.quality_frame(context.engine, [run.id], METRICS)
    if frame.empty:
        return None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        axis, goal = (
            axis_control(key="over", default="epoch"),
            threshold_control(frame, quality.headline(run.config)),
        )
        log_y = st.toggle(
            "Log y",
            key="logq",
            bind="query-params",
            help="Logarithmic axes; values that are not positive are omitted.",
        )
        return QualityOptions(axis, goal, log_y, events_control())


def draw(engine: Engine, run: Run, options: QualityOptions | None) -> None:
    """The tab Quality."""
    frame = series.quality_frame(engine, [run.id], METRICS)
    if frame.empty:
        every = min(int(run.config.get("quality_every", 0)), int(run.config["epochs"]))
        if run.status not in ENDED:
            st.caption(
                f"The first evaluation follows epoch {every}."
                if every
                else "Training does not evaluate this run, since quality_every is 0."
            )
        return
    if options is None:
        # the controls are outside the part that updates, and absent without evaluations
        st.rerun()
    _metrics(run, frame, options.goal)
    courses, source = charts_of(quality.model_of(run.config)), recorded(run.facts)
    charts = by_epoch(
        engine,
        run,
        "quality",
        (options, run.facts.get("class_shares")),
        lambda: _charts(engine, run, frame, options),
    )
    for start in range(0, len(courses), 2):
        for column, index in zip(
            st.columns(min(2, len(courses))), range(start, len(courses)), strict=False
        ):
            with column:
                names = courses[index]
                st.markdown(
                    "  \n".join(
                        f"**{metric.called(source)}** :gray[{formatting.escape(metric.meaning)}]"
                        for metric in map(METRICS.__getitem__, names)
                    )
                )
                charts[index].show()
    if len(charts) > len(courses):
        st.markdown(f"**Classes of the images after epoch {frame.iloc[-1]['epoch']}**")
        charts[-1].show()
    if "validation" in run.facts:
        _validation(run, Validation.model_validate(run.facts["validation"]), options)
    amount = f"{int(run.config['quality_images']):,} generated ones against as many real ones"
    st.caption(f"{caption(run)} {CAPTION} {amount}, or all there are.")


def _validation(run: Run, found: Validation, options: QualityOptions) -> None:
    spec = registry.known(run.config).spec
    if (declared := spec.validation) is None:
        return
    amount = f"{found.events:,} generated and as many real {spec.examples}"
    st.markdown(f"**{amount}, at the last evaluation**")
    names = [name for name in declared.curves if name in found.curves]
    for start in range(0, len(names), 3):
        for column, name in zip(st.columns(3), names[start : start + 3], strict=False):
            with column:
                st.markdown(f"**{declared.curves[name].title}**")
                plot = validation.curve(
                    declared.curves[name], found.curves[name], log_y=options.log_y
                )
                Chart.of(plot, f"validation-{name}-{run.id}-{options.log_y:d}").show()
    plots = validation.correlations(declared, found)
    for column, text, plot in zip(st.columns(2), ("real", "generated"), plots, strict=True):
        with column:
            st.markdown(f"**Correlations of {text} {spec.examples}**")
            Chart.of(plot, f"correlations-{text}-{run.id}").show()


def _charts(engine: Engine, run: Run, frame: pd.DataFrame, options: QualityOptions) -> list[Chart]:
    events = events_if(engine, run, options.events)
    charts = []
    for names in charts_of(quality.model_of(run.config)):
        plot = quality.course(frame, names, x=options.axis, log_y=options.log_y, events=events)
        charts.append(
            Chart.of(plot, f"quality-{names[0]}-{run.id}-{options.axis}-{options.log_y:d}")
        )
    if len(shares := frame.iloc[-1]["histogram"]):
        charts.append(
            Chart.of(quality.classes(shares, run.facts.get("class_shares")), f"classes-{run.id}")
        )
    return charts


def _metrics(run: Run, frame: pd.DataFrame, goal: float | None) -> None:
    measure = quality.headline(run.config)
    word, digits = METRICS[measure].called(recorded(run.facts)), METRICS[measure].digits
    lowest, newest, reached = best(frame, measure), frame.iloc[-1], seconds_to(frame, goal, measure)
    preparing = float(frame["preparation_seconds"].sum())  # NaN, of older runs, counts as 0
    evaluation = float(frame["seconds"].sum()) + preparing
    if frame["preparation_seconds"].isna().any():
        prepared = "The time to prepare the classifier and the real data was not recorded."
    else:
        took = formatting.duration(preparing)
        prepared = f"Preparing the classifier and the real data took {took} of this time."
    entries = (
        (
            f"Best {word}",
            formatting.decimal(lowest.value if lowest else None, digits),
            f"After epoch {lowest.epoch}." if lowest else "No finite value.",
        ),
        (
            f"Newest {word}",
            formatting.decimal(newest[measure], digits),
            f"After epoch {newest['epoch']}. {METRICS[measure].meaning}.",
        ),
        (
            f"Seconds to {word}" if goal is None else f"Time to {word} {goal:g}",
            "not reached" if reached is None and goal is not None else formatting.duration(reached),
            (
                "Training time when an evaluation first reached this value, without compilation"
                " and evaluation."
            ),
        ),
        (
            "Evaluation took",
            formatting.duration(evaluation),
            f"{formatting.plural(len(frame), 'evaluation')}, outside the training time. {prepared}",
        ),
        (
            "Share of total time",
            formatting.share(evaluation / (evaluation + run.seconds)),
            "Evaluation including preparation, as a share of training and evaluation time.",
        ),
    )
    tiles(entries)
