"""What the script of a run logged beside the losses of G and D: a chart for each metric, and how
values such as weights were spread."""

from __future__ import annotations

import streamlit as st
from sqlalchemy import Engine

from ganboard.app.run.cache import by_step
from ganboard.app.run.charts import LossOptions, events_if, nothing
from ganboard.app.widgets.live_plotly import Chart
from ganboard.db.curves import logged
from ganboard.db.models import Run
from ganboard.worker import formatting
from ganboard.worker.figures import histograms
from ganboard.worker.figures import losses as figures

CHARTS = 40  # of each kind, on one page


def draw(engine: Engine, run: Run, options: LossOptions) -> None:
    """The tab Metrics."""

    def charts() -> tuple[list[Chart], int]:
        names = logged.names(engine, run.id)
        if set(logged.LOSSES) <= set(names):
            names = [name for name in names if name not in logged.LOSSES]
        events = events_if(engine, run, options.events)
        drawn = []
        for name in names[:CHARTS]:
            frame = logged.frame(engine, run.id, name)
            plot = figures.metric(
                frame,
                name,
                x=options.axis,
                smoothing=options.smoothing,
                log_x=options.log_x,
                log_y=options.log_y,
                robust=options.robust,
                events=events,
            )
            drawn.append(Chart.of(plot, f"logged-{name}-{run.id}-{options.scale}"))
        return drawn, len(names)

    def spreads() -> tuple[list[Chart], int]:
        names = logged.histogram_names(engine, run.id)
        return [_spread(engine, run.id, name) for name in names[:CHARTS]], len(names)

    drawn, count = by_step(engine, run, "logged", options, charts)
    spread, spread_count = by_step(engine, run, "spread", (), spreads)
    if not drawn and not spread:
        nothing(run, "Metrics other than g_loss and d_loss appear here once the script logs them.")
        return
    _show(drawn, count, "metric")
    if spread:
        st.subheader("Histograms")
        _show(spread, spread_count, "histogram")


def _show(charts: list[Chart], count: int, what: str) -> None:
    for column, place in zip(st.columns(2), (0, 1), strict=True):
        with column:
            for chart in charts[place::2]:
                chart.show()
    if count > CHARTS:
        st.caption(
            f"The first {CHARTS} of {formatting.plural(count, what)}, in alphabetical order;"
            " the download has all."
        )


def _spread(engine: Engine, run_id: str, name: str) -> Chart:
    found = logged.histograms(engine, run_id, name)
    plot = histograms.spread(
        [one.step for one in found],
        [one.edges for one in found],
        [one.counts for one in found],
        name,
    )
    return Chart.of(plot, f"spread-{name}-{run_id}")
