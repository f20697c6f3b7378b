"""What the script of a run logged beside the losses of G and D: a chart for each metric."""

from __future__ import annotations

import streamlit as st
from sqlalchemy import Engine

from ganboard.app.run.cache import by_step
from ganboard.app.run.charts import LossOptions, events_if, nothing
from ganboard.app.widgets.live_plotly import Chart
from ganboard.db.curves import logged
from ganboard.db.models import Run
from ganboard.worker import formatting
from ganboard.worker.figures import losses as figures

CHARTS = 40  # on one page


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

    drawn, count = by_step(engine, run, "logged", (options, run.reports), charts)
    if not drawn:
        nothing(run, "Metrics appear when the script logs others than g_loss and d_loss.")
        return
    for column, place in zip(st.columns(2), (0, 1), strict=True):
        with column:
            for chart in drawn[place::2]:
                chart.show()
    if count > CHARTS:
        st.caption(
            f"The first {CHARTS} of {formatting.plural(count, 'metric')}, in alphabetical order;"
            " the download has all."
        )
