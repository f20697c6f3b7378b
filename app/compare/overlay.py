"""The curves of the selected runs over each other, beside the list of runs."""

from __future__ import annotations

from typing import Literal

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ganboard.app import errors, navigation
from ganboard.app.compare import curves, grouping, losses
from ganboard.app.compare.comparison import Compared, by_run
from ganboard.app.compare.grouping import Grouping
from ganboard.app.run.requested import evaluation
from ganboard.app.widgets.live_plotly import Chart, Eye
from ganboard.db.curves import series
from ganboard.db.models import ENDED, Run
from ganboard.db.runs import queries
from ganboard.gan.config import invalid_reason
from ganboard.gan.quality.declared import METRICS
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.figures import compare
from ganboard.worker.figures.palette import CATEGORICAL

Curve = Literal["Generator loss", "Discriminator loss", "Quality"]
CURVES: tuple[Curve, ...] = ("Generator loss", "Discriminator loss", "Quality")
NETS = {"Generator loss": "g", "Discriminator loss": "d"}
KEY = "runs_overlay"
# beside the table where there is room, else below it; the table stays the element that it was.
# Above it is room for its tools, which would cover the buttons of the selected runs.
STYLE = f"""
.st-key-runs_body {{ padding-top: 1.8rem; }}
@media (min-width: 1100px) {{
  .st-key-runs_body:has(.st-key-{KEY}) {{
    display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); column-gap: 1.25rem;
    align-items: start;
  }}
}}
"""


def show(context: Context, selected: list[str], seconds: float) -> None:
    """What to draw of the selected runs, and their curves, anew every so many `seconds` while one
    of them is going on."""
    runs = readable(queries.get_runs(context.engine, selected[: navigation.MAX_COMPARED]))
    with st.container(key=KEY, gap="small"):
        if not runs:
            st.caption("The settings of the selected runs are invalid: there are no curves.")
            return
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            curve = st.selectbox(
                "Curve", CURVES, key="curve", bind="query-params", filter_mode=None, width=180
            )
            by = grouping.control(runs) if len(runs) > 1 else None
        if len(selected) > navigation.MAX_COMPARED:
            st.caption(
                f":material/info: The first {navigation.MAX_COMPARED} of"
                f" {len(selected):,} selected runs."
            )
        body = st.container(gap="small")
        live = any(run.status not in ENDED for run in runs)
        st.fragment(tick, run_every=seconds if live else None)(
            context, [run.id for run in runs], curve, by, body
        )
        if curve == "Quality":
            evaluation.of_runs(context, runs)


def readable(runs: list[Run]) -> list[Run]:
    """Those with valid settings."""
    return [run for run in runs if run.external or invalid_reason(run.config) is None]


def tick(
    context: Context, run_ids: list[str], curve: Curve, by: Grouping | None, body: DeltaGenerator
) -> None:
    """Draw the curves from what the database says now."""
    with errors.sentences(), body:
        runs = readable(queries.get_runs(context.engine, run_ids))
        if not runs:
            return  # deleted: the table draws the page anew
        compared = Compared(runs, runs[0], by)
        if curve == "Quality":
            _quality(context, compared)
        else:
            _losses(context, compared, curve)


def _losses(context: Context, compared: Compared, curve: Curve) -> None:
    frames = losses.frames_of(context.engine, compared, by_epoch=True)
    if all(frame.empty for frame in frames.values()):
        st.caption("None of the selected runs has losses yet.")
        return
    net, title = NETS[curve], f"{curve}, mean of the epoch"
    if compared.grouping:
        plot = curves.means(
            compared, compared.ids, frames, column=f"{net}_loss", x="epoch", title=title
        )
    else:
        plot = compare.losses(compared.series(), frames, net=net, x="epoch", title=title)
    _show(plot, compared, compared.runs, curve)


def _quality(context: Context, compared: Compared) -> None:
    everything = series.quality_frame(context.engine, compared.ids, METRICS)
    if everything.empty:
        st.caption("None of the selected runs was evaluated.")
        return
    measure = compared.headline(everything)
    among = compared.comparable(measure)
    plot = curves.quality(
        compared,
        {run.id for run in among},
        by_run(compared, everything),
        measure,
        x="epoch",
        log_y=False,
        title=compared.called(measure),
    )
    _show(plot, compared, among, "Quality")
    if sentence := compared.conflict(measure):
        st.caption(
            f":material/info: {formatting.escape(sentence)} Only runs with"
            f" {compared.source.label} features are drawn."
        )


def _show(plot: go.Figure, compared: Compared, drawn: list[Run], curve: Curve) -> None:
    """The figure, and an eye for each of its curves."""
    plot.update_layout(height=320, showlegend=False, margin={"t": 16})
    if compared.grouping:
        found = grouping.groups(drawn, compared.grouping.by)
        eyes = [
            Eye(
                f"group-{place}",
                f"{name} ({formatting.plural(len(own), 'run')})",
                CATEGORICAL[place % len(CATEGORICAL)],
            )
            for place, (name, own) in enumerate(found.items())
        ]
        key = f"overlay-{curve}-{compared.grouping.by}"
    else:
        eyes = [Eye(one.run_id, one.name, one.colour) for one in compared.series()]
        known = {run.id for run in drawn}
        eyes = [eye for eye in eyes if eye.curve in known]
        key = f"overlay-{curve}"
    Chart.of(plot, key).show_eyes(eyes)
