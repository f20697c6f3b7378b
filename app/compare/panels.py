"""The panels of the board over all compared runs, one by one or as means of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.compare.comparison import Compared
from ganboard.app.compare.grouping import groups
from ganboard.app.panels import layout
from ganboard.app.panels.layout import Slot
from ganboard.app.run.cache import by_step
from ganboard.app.widgets.live_plotly import Chart
from ganboard.db.models import Run
from ganboard.gan.quality.declared import METRICS
from ganboard.worker import formatting
from ganboard.worker.figures.many import bands
from ganboard.worker.panels import figure
from ganboard.worker.panels.board import Panel
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.expressions import parse
from ganboard.worker.panels.points import Points, compute

POINTS = 1000  # per run
UNGROUPED = "Runs have no mean over this x axis: they are drawn one by one."
NAMED = 3  # runs that a message names

Found = Points | str  # or why there are none


def controls(engine: Engine, compared: Compared) -> list[Slot]:
    """The bar and the frames of the tab."""
    large = partial(_draw, engine, compared, key="large", height=figure.LARGE)
    return layout.controls(engine, compared.ids, large)


def draw(engine: Engine, compared: Compared, slots: list[Slot]) -> None:
    """The charts of the tab Panels."""
    for slot in slots:
        with slot.place:
            _draw(engine, compared, slot.panel, key=slot.key, height=figure.HEIGHT)


def _draw(engine: Engine, compared: Compared, panel: Panel, *, key: str, height: int) -> None:
    points: dict[str, dict[str, Points]] = {}
    notes = {}
    for y in panel.curves:
        own, notes[y] = _curve(engine, compared, panel, y)
        if own:
            points[y] = own
    said = [*layout.said(panel), *layout.by_curve(notes)]
    grouped = compared.grouping is not None and panel.x in figure.OVER and panel.x != "time"
    if compared.grouping is not None and not grouped:
        said.append(UNGROUPED)
    if points:
        plot = (
            _means(compared, panel, points, height)
            if grouped
            else figure.of_runs(panel, compared.series(), points, height=height)
        )
        Chart.of(plot, f"{key}-{layout.digest(panel)}-{grouped:d}").show()
    elif not said:
        said.append("No values yet.")
    st.caption(formatting.escape(" ".join(said)))


def _curve(
    engine: Engine, compared: Compared, panel: Panel, y: str
) -> tuple[dict[str, Points], list[str]]:
    """The points of an expression by run, of those that have any, and what to know about them."""
    among, said = _comparable(compared, y, panel.x)
    found = {run.id: _points(engine, run, panel, y) for run in among}
    points = {
        run_id: one for run_id, one in found.items() if isinstance(one, Points) and len(one.y)
    }
    return points, [*said, *_missing(compared, found), *_notes(compared, points)]


def _points(engine: Engine, run: Run, panel: Panel, y: str) -> Found:
    def build() -> Found:
        try:
            return compute(engine, run.id, y, panel.x, smoothing=panel.smoothing, points=POINTS)
        except BadPanel as mistake:
            return str(mistake)

    return by_step(engine, run, "compared panel", (y, panel.x, panel.smoothing), build)


def _comparable(compared: Compared, y: str, x: str) -> tuple[list[Run], list[str]]:
    """The runs whose values may be drawn over each other, and why others may not."""
    names = [*parse(y).names, *([] if x == "time" else parse(x).names)]
    among, said = list(compared.runs), []
    for name in dict.fromkeys(names):
        if name in METRICS:
            kept = {run.id for run in compared.comparable(name)}
            among = [run for run in among if run.id in kept]
            if conflict := compared.conflict(name):
                said.append(conflict)
    return among, said


def _missing(compared: Compared, found: Mapping[str, Found]) -> list[str]:
    """Why runs have no points: the reason of the first where none has any."""
    reasons = {run_id: why for run_id, why in found.items() if isinstance(why, str)}
    if not reasons:
        return []
    if len(reasons) == len(found):
        return [next(iter(reasons.values()))]
    return [f"Not stored for {_runs(compared, list(reasons))}."]


def _notes(compared: Compared, points: Mapping[str, Points]) -> list[str]:
    """What to know about the points: of all runs, or of which."""
    by_note: dict[str, list[str]] = {}
    for run_id, one in points.items():
        for note in one.notes:
            by_note.setdefault(note, []).append(run_id)
    shared = [note for note, own in by_note.items() if len(own) == len(points)]
    others = [(note, own) for note, own in by_note.items() if len(own) < len(points)]
    said = [f"{_runs(compared, own)}: {note}" for note, own in others[:NAMED]]
    if len(others) > NAMED:
        said.append(f"There are {len(others) - NAMED} more such remarks on single runs.")
    return [*shared, *said]


def _runs(compared: Compared, run_ids: Sequence[str]) -> str:
    if len(run_ids) > NAMED:
        return formatting.plural(len(run_ids), "run")
    labels = compared.labels()
    return ", ".join(f"“{labels[run_id]}”" for run_id in run_ids)


def _means(
    compared: Compared, panel: Panel, points: Mapping[str, Mapping[str, Points]], height: int
) -> go.Figure:
    """The mean of each group with its band, for each expression."""
    assert compared.grouping
    plot = figure.empty(panel, height, legend=True)
    with_points = {run_id for own in points.values() for run_id in own}
    among = [run for run in compared.runs if run.id in with_points]
    for place, (name, members) in enumerate(groups(among, compared.grouping.by).items()):
        uid = f"group-{place}"
        first = True
        for y, own in points.items():
            # `bands` reads the places from the column of an axis: "step", whatever it counts
            frames = [
                pd.DataFrame({"step": own[run.id].x, "value": own[run.id].smooth})
                for run in members
                if run.id in own
            ]
            if not frames:
                continue
            called = bands.counted(name, len(frames))
            bands.draw(
                plot,
                bands.mean(frames, "step", "value", compared.grouping.spread),
                place,
                uid=figure.numbered(uid, panel.curves.index(y)),
                hovertemplate=figure.under_pointer(panel, bands.HOVER),
                **{"legendgroup": uid, **figure.named(panel, y, called, uid, first=first)},
                **figure.dashed(panel, y),
            )
            first = False
    figure.explain_dashes(plot, panel, list(points))
    return plot
