"""From settings to results: parallel coordinates over the compared runs, a sweep, or all runs that
a search finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app import errors, navigation
from ganboard.app.compare import results
from ganboard.app.compare.comparison import Compared
from ganboard.app.compare.results import FIDS, SPEED_AND_LOSS, Measure
from ganboard.app.run.requested import evaluation
from ganboard.app.runs import listing
from ganboard.app.theme import style
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db.errors import BadSearch
from ganboard.db.runs import search
from ganboard.db.runs.listing import Listed
from ganboard.gan.settings.metadata import about, all_defaults
from ganboard.worker import formatting
from ganboard.worker.figures import parallel

DEFAULTS = all_defaults()
AXES = 8  # of settings
LINES = 500  # more hide each other
COMPARED, SWEEP, FOUND = "Compared runs", "Whole sweep", "Search"
AXIS_PIXELS = 90
DEFAULT = "parallel_default"  # the result that was first when the page was drawn
# on a phone the axes keep their distance and are scrolled; Plotly draws them black and their ticks
# with a white shadow, in every theme
STYLE = """
.st-key-parallel_lines { overflow-x: auto }
.st-key-parallel_lines .live-plotly { min-width: WIDTHpx }
.st-key-parallel_lines .parcoords .axis :is(path, line) {
  stroke: gray !important; stroke-opacity: 0.7 !important
}
.st-key-parallel_lines .parcoords .axis text { text-shadow: none !important }
"""


@dataclass(frozen=True)
class Options:
    source: str
    sought: str
    measure: str


def controls(engine: Engine, compared: Compared) -> Options:
    """Which runs, and the result that colours them: at first one that they have."""
    sources = [COMPARED, *([SWEEP] if sweep_of(compared) else []), FOUND]
    if st.session_state.get("of", COMPARED) not in sources:
        st.session_state["of"] = COMPARED
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        source = st.segmented_control(
            "Runs", sources, default=sources[-2], required=True, key="of", bind="query-params"
        )
        sought = ""
        if source == FOUND:
            sought = st.text_input(
                "Search",
                key="find",
                bind="query-params",
                placeholder="tag:paper batch_size>=128",
                max_chars=search.LENGTH,
            )
        runs = _found(compared, source, sought or "")
        measures = results.measures(engine, runs)
        offered = results.available(measures, runs)
        _follow_default(offered[0])
        measure = st.selectbox(
            "Coloured by",
            offered,
            key="by_measure",
            bind="query-params",
            filter_mode=None,
            width=220,
            help="  \n".join(f"**{name}**: {measures[name].meaning}" for name in offered),
        )
    evaluation.of_runs(navigation.context(), runs)
    return Options(source, sought or "", measure)


def _follow_default(first: str) -> None:
    """Choose the first result that there is, such as an FID once the runs are evaluated, unless a
    person has chosen another."""
    before = st.session_state.get(DEFAULT)
    if before not in (None, first) and st.session_state.get("by_measure") == before:
        st.session_state["by_measure"] = first
    st.session_state[DEFAULT] = first


def sweep_of(compared: Compared) -> str | None:
    """The sweep of the page: that of the URL, or else of the first compared run that has one."""
    return navigation.sweep_param() or next((run.sweep for run in compared.runs if run.sweep), None)


def draw(engine: Engine, compared: Compared, options: Options) -> None:
    """The tab Parallel."""
    try:
        runs = _runs(compared, options.source, options.sought)
    except BadSearch as error:
        errors.report(str(error), "warning")
        return
    measures = results.measures(engine, runs)
    measure = measures.get(options.measure)
    if measure is None:
        st.rerun()  # the chooser offers what other runs had
    measured = [run for run in runs if results.is_finite(measure.value(run))][:LINES]
    if len(measured) < 2:
        st.caption(
            f"{formatting.plural(len(measured), 'run')} of {len(runs):,} with this metric: the"
            " plot needs at least two."
        )
        return
    axes = _axes(measured, measures, options.measure)
    style.apply(STYLE.replace("WIDTH", str(AXIS_PIXELS * len(axes))))
    with st.container(key="parallel_lines"):
        live_plotly(
            parallel.coordinates(
                axes, coloured=options.measure, less_is_better=measure.less_is_better
            ),
            key=f"parallel-{options.source}-{','.join(axes)}",
        )
    st.caption(
        "One line per run. Drag along an axis to select a range; drag an axis label to reorder the"
        " axes."
    )
    if len(measured) < len(runs):
        st.caption(
            f"{len(runs) - len(measured):,} of {len(runs):,} runs are not shown: they lack this"
            f" metric or exceed the limit of {LINES}."
        )
    if options.measure in FIDS and len({run.config.get("dataset") for run in measured}) > 1:
        st.caption(
            ":material/info: These runs use different data sets: their FID cannot be compared."
        )
    if measure.less_is_better is not None:
        measured.sort(key=lambda run: measure.value(run) or 0.0, reverse=not measure.less_is_better)
        _best(measured, options.measure, measure)
    _table(measured, measures, axes)


def _found(compared: Compared, source: str, sought: str) -> list[Listed]:
    """As `_runs`, none for a search that `draw` says is wrong."""
    try:
        return _runs(compared, source, sought)
    except BadSearch:
        return []


def _runs(compared: Compared, source: str, sought: str) -> list[Listed]:
    everything = listing.newest_first(listing.read(navigation.context()))
    if source == FOUND:
        return [
            run
            for run in search.matching(everything, search.parse(sought, DEFAULTS))
            if run.archived_at is None
        ]
    if source == SWEEP:
        return [run for run in everything if run.sweep == sweep_of(compared)]
    found = {run.id: run for run in everything}
    return [found[run_id] for run_id in compared.ids if run_id in found]


def _axes(
    runs: Sequence[Listed], measures: Mapping[str, Measure], coloured: str
) -> dict[str, list[Any]]:
    """The settings that vary among the runs, and then the results that all of them have, the
    coloured one last."""
    varying = [
        name
        for name in DEFAULTS
        if about(name).affects != "records" and len({str(run.config.get(name)) for run in runs}) > 1
    ]
    axes = {name: [run.config.get(name) for run in runs] for name in varying[:AXES]}
    speeds = ("Seconds per epoch", "Images per second")
    others = [name for name in measures if name in speeds or name not in SPEED_AND_LOSS]
    for name in (*(name for name in others if name != coloured), coloured):
        values = [measures[name].value(run) for run in runs]
        if all(map(results.is_finite, values)):
            axes[name] = values
    return axes


def _best(runs: list[Listed], name: str, measure: Measure) -> None:
    """The best run, and the way to compare the best ones closely."""
    best = runs[0]
    title = name if name.startswith("Best ") else f"Best {name}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{title} ({formatting.decimal(measure.value(best), 2)}):", width="content")
        label = formatting.escape(formatting.shorten(best.name, 40))
        st.page_link(
            navigation.RUN_PAGE,
            label=label,
            icon=formatting.STATUS[best.shown_status].icon,
            query_params={"run": best.id},
        )
        few = [run.id for run in runs[: navigation.SIDE_BY_SIDE]]
        st.button(
            f"Compare the best {len(few)}",
            icon=":material/compare_arrows:",
            on_click=lambda: navigation.set_runs_param(few),
            key="best",
        )


def _table(runs: list[Listed], measures: Mapping[str, Measure], axes: dict[str, list[Any]]) -> None:
    rows = [
        {
            "Run": run.name,
            **{
                name: formatting.format_value(run.config.get(name))
                for name in axes
                if name not in measures
            },
        }
        | {name: measure.value(run) for name, measure in measures.items() if name in axes}
        for run in runs
    ]
    formats = {
        name: st.column_config.NumberColumn(format="%.4g", help=measures[name].meaning)
        for name in axes
        if name in measures
    }
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(38 + 36 * len(rows), 400),
        key="lines",
        column_config=formats,
    )
