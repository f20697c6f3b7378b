"""Two to eight runs side by side: losses and quality over each other, images at the same epoch, what each cost, and what they differ in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st
from sqlalchemy import Engine
from streamlit.delta_generator import DeltaGenerator

from app import errors, state, text
from app.components import comparison, quality_comparison
from app.components.comparison import Compared
from app.components.run_charts import loss_controls
from db import queries
from db.models import ENDED, Run

TICK_SECONDS = 2.0
OFFERED = 200  # newest runs in the chooser


@dataclass(frozen=True)
class View:
    """One tab: `controls` are drawn outside the part that updates and return what `draw` needs to know of them."""

    draw: Callable[[Engine, Compared, Any], None]
    controls: Callable[[Engine, Compared], Any] = lambda engine, compared: None


VIEWS = {
    "Losses": View(comparison.draw_losses, lambda engine, compared: loss_controls(default="epoch", key="by")),
    "Images": View(comparison.draw_images, comparison.image_controls),
    "Quality": View(quality_comparison.draw, quality_comparison.controls),
    "Timings": View(lambda engine, compared, options: comparison.draw_timings(engine, compared)),
    "Settings": View(lambda engine, compared, options: comparison.draw_settings(compared)),
}


def page() -> None:
    engine = state.context().engine
    st.title("Compare runs", anchor=False)
    asked = state.runs_param()
    runs = queries.get_runs(engine, asked)
    unknown = [run_id for run_id in asked if run_id not in {run.id for run in runs}]
    if unknown:
        st.caption(f":material/info: Left out, because no such run exists: {', '.join(unknown)}.")
    baseline = choose(engine, runs)
    if baseline is None:
        st.caption("Choose at least two runs." if queries.count_runs(engine) > 1 else "There are fewer than two runs to compare.")
        st.page_link(state.RUNS_PAGE, label="All runs", icon=":material/list:")
        return
    compared = Compared(runs, baseline)
    with st.container(horizontal=True, gap="medium"):
        for run in runs:
            label = text.escape(text.shorten(run.name, 24))
            st.page_link(state.RUN_PAGE, label=label, icon=text.STATUS[run.status].icon, query_params={"run": run.id})
    head = st.container()
    tabs = dict(zip(VIEWS, st.tabs(list(VIEWS), key="part", on_change="rerun", bind="query-params"), strict=True))
    name = next((name for name, tab in tabs.items() if tab.open), next(iter(VIEWS)))
    with tabs[name]:
        options = VIEWS[name].controls(engine, compared)
        body = st.container()
    live = any(run.status not in ENDED for run in runs)
    st.fragment(tick, run_every=TICK_SECONDS if live else None)(compared.ids, baseline.id, name, options, head, body, live)


def choose(engine: Engine, runs: list[Run]) -> Run | None:
    """Add and remove runs, and choose the baseline; None while fewer than two are chosen. The URL holds the choice."""
    chosen = [run.id for run in runs]
    offered = {run.id: run for run in [*runs, *queries.list_runs(engine, limit=OFFERED)]}
    if st.session_state.get("compared") != chosen:
        st.session_state["compared"] = chosen
    left, right = st.columns([3, 1])
    left.multiselect(
        "Runs",
        list(offered),
        format_func=lambda run_id: f"{text.shorten(offered[run_id].name)} ({run_id})",
        key="compared",
        max_selections=state.MAX_COMPARED,
        placeholder="Choose two to eight runs",
        on_change=lambda: state.set_runs_param(st.session_state["compared"]),
    )
    if len(runs) < 2:
        return None
    if st.session_state.get("base", chosen[0]) not in chosen:
        st.session_state["base"] = chosen[0]
    base = right.selectbox(
        "Baseline",
        chosen,
        format_func=lambda run_id: text.shorten(offered[run_id].name, 30),
        key="base",
        bind="query-params",
        help="The run that ratios are taken to.",
    )
    return next(run for run in runs if run.id == base)


def tick(run_ids: list[str], baseline_id: str, name: str, options: Any, head: DeltaGenerator, body: DeltaGenerator, live: bool) -> None:
    """Draw the summary and the open tab from what the database says now; the whole page once a run is gone or the last has ended."""
    with errors.sentences():
        engine = state.context().engine
        runs = queries.get_runs(engine, run_ids)
        if len(runs) < len(run_ids) or any(run.status not in ENDED for run in runs) != live:
            st.rerun()
        compared = Compared(runs, next(run for run in runs if run.id == baseline_id))
        with head:
            comparison.draw_summary(engine, compared)
        with body:
            VIEWS[name].draw(engine, compared, options)


page()
