"""The panels of a run: all of the board in a tab of their own, the pinned ones on the first."""

from __future__ import annotations

import streamlit as st
from sqlalchemy import Engine

from ganboard.app.panels import boards, layout
from ganboard.app.panels.layout import Slot
from ganboard.app.run.cache import by_step
from ganboard.app.widgets.live_plotly import Chart
from ganboard.db.models import Run
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.panels import figure
from ganboard.worker.panels.board import Panel
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.points import Points, compute

POINTS = 2000


def controls(context: Context, run: Run) -> list[Slot]:
    """The bar and the frames of the tab."""

    def large(panel: Panel) -> None:
        _draw(context.engine, run, panel, "large", figure.LARGE)

    return layout.controls(context.engine, [run.id], large)


def draw(engine: Engine, run: Run, slots: list[Slot]) -> None:
    """The charts of the tab Panels."""
    for slot in slots:
        with slot.place:
            _draw(engine, run, slot.panel, slot.key, figure.HEIGHT)


def draw_pinned(engine: Engine, run: Run) -> None:
    """The pinned panels of the board; none where its address cannot be read, as the tab says."""
    try:
        pinned = [panel for panel in boards.current(engine).panels if panel.pinned]
    except BadPanel:
        return
    for place, (panel, column) in enumerate(
        zip(pinned, layout.rows([panel.width for panel in pinned]), strict=True)
    ):
        with column, st.container(border=True):
            st.markdown(f":material/push_pin: **{formatting.escape(panel.called)}**")
            _draw(engine, run, panel, f"pinned-{place}", figure.HEIGHT)


def _draw(engine: Engine, run: Run, panel: Panel, key: str, height: int) -> None:
    def build() -> tuple[Chart | None, str]:
        found, notes = _points(engine, run, panel)
        said = layout.by_curve(notes)
        if found:
            said = [*layout.said(panel), *said]
        drawn = {y: points for y, points in found.items() if len(points.y)}
        if not drawn:
            return None, " ".join([*said, *(["No values yet."] if found else [])])
        plot = figure.of_run(panel, drawn, height=height)
        return Chart.of(plot, f"{key}-{layout.digest(panel)}-{run.id}"), " ".join(said)

    options = (panel.model_dump_json(), height)
    chart, said = by_step(engine, run, key, options, build)
    if chart is not None:
        chart.show()
    st.caption(formatting.escape(said))


def _points(
    engine: Engine, run: Run, panel: Panel
) -> tuple[dict[str, Points], dict[str, tuple[str, ...]]]:
    """The points of the expressions that the run has, and notes on each expression."""
    found = {}
    notes: dict[str, tuple[str, ...]] = {}
    for y in panel.curves:
        try:
            own = compute(engine, run.id, y, panel.x, smoothing=panel.smoothing, points=POINTS)
        except BadPanel as mistake:
            notes[y] = (str(mistake),)
        else:
            found[y] = own
            notes[y] = own.notes
    return found, notes
