"""One run: what it does now, its losses, images, quality, timings, rates, path, log and settings, live while it is not ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import errors, run_actions, state, text
from app.components import run_buttons, run_charts, run_quality, run_records, run_status, run_timings
from db import queries
from db.models import ENDED, Run
from worker.context import Context

TICK_SECONDS = 1.5


@dataclass(frozen=True)
class View:
    """One tab: `controls` are drawn outside the part that updates and return what `draw` needs to know of them."""

    draw: Callable[[Context, Run, Any], None]
    controls: Callable[[Context, Run], Any] = lambda context, run: None


VIEWS = {
    "Losses": View(lambda c, r, o: run_charts.draw_losses(c.engine, r, o), lambda c, r: run_charts.loss_controls()),
    "Images": View(lambda c, r, o: run_charts.draw_images(c.engine, r, o), lambda c, r: run_charts.image_controls(c.engine, r)),
    "Quality": View(lambda c, r, o: run_quality.draw(c.engine, r, o), lambda c, r: run_quality.controls(c.engine, r)),
    "Timings": View(lambda c, r, o: run_timings.draw(c.engine, r)),
    "Rates": View(lambda c, r, o: run_timings.draw_rates(c.engine, r, o), lambda c, r: run_timings.rate_controls()),
    "Histograms": View(lambda c, r, o: run_charts.draw_histograms(c.engine, r)),
    "Descent path": View(lambda c, r, o: run_charts.draw_path(c.engine, r, o), lambda c, r: run_charts.path_controls()),
    "System": View(lambda c, r, o: run_charts.draw_system(c.engine, r)),
    "Log": View(lambda c, r, o: run_records.draw_log(c, r)),
    "Events": View(lambda c, r, o: run_records.draw_events(c, r)),
    "Config": View(lambda c, r, o: run_records.draw_config(c, r)),
}


def page() -> None:
    context = state.context()
    run_id = state.run_param()
    run = queries.get_run(context.engine, run_id) if run_id else None
    if run is None:
        missing(context, asked=bool(st.query_params.get("run")))
        return
    title, actions = st.columns([1, 1], vertical_alignment="center")
    with title:
        st.title(text.escape(text.shorten(run.name, 80)), anchor=False)
    with actions:
        run_buttons.show(context, run)
    outcome, head = st.container(), st.container()
    tabs = dict(zip(VIEWS, st.tabs(list(VIEWS), key="view", on_change="rerun", bind="query-params"), strict=True))
    name = next((name for name, tab in tabs.items() if tab.open), next(iter(VIEWS)))
    with tabs[name]:
        options = VIEWS[name].controls(context, run)
        body = st.container()
    live = run.status not in ENDED
    st.fragment(tick, run_every=TICK_SECONDS if live else None)(run.id, name, options, head, body, live)
    run_actions.tell_outcome(outcome)


def tick(run_id: str, name: str, options: Any, head: DeltaGenerator, body: DeltaGenerator, live: bool) -> None:
    """Draw the head and the open tab from what the database says now; once the run has ended or gone, the whole page, one last time."""
    with errors.sentences():
        context = state.context()
        run = queries.get_run(context.engine, run_id)
        if run is None or (run.status not in ENDED) != live:
            st.rerun()
        with head:
            run_status.show(context, run)
        with body:
            VIEWS[name].draw(context, run, options)


def missing(context: Context, *, asked: bool) -> None:
    """No run, or none that exists: say so and show the way on."""
    st.title("No such run" if asked else "No run is chosen", anchor=False)
    if asked:
        st.write("There is no run with this id: it was deleted, or the address is not complete.")
    newest = queries.list_runs(context.engine, limit=5)
    if newest:
        st.write("The newest runs:")
    for run in newest:
        label = f"{text.escape(text.shorten(run.name))} · {text.status_word(run.status)}"
        st.page_link(state.RUN_PAGE, label=label, icon=text.STATUS[run.status].icon, query_params={"run": run.id})
    st.page_link(state.RUNS_PAGE, label="All runs", icon=":material/list:")


page()
