"""Two and more runs side by side: what came of it in words, losses, images, quality, cost,
settings, and all of it over many runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from sys import intern
from typing import Any

import streamlit as st
from sqlalchemy import Engine
from streamlit.delta_generator import DeltaGenerator

from ganboard.app import errors, navigation
from ganboard.app.compare import (
    baseline,
    comparison,
    costs,
    files,
    grouping,
    images,
    losses,
    panels,
    parallel,
    quality,
    settings,
    wall,
)
from ganboard.app.compare.comparison import Compared
from ganboard.app.compare.grouping import Grouping
from ganboard.app.runs import saved_views
from ganboard.app.theme import style
from ganboard.db.models import ENDED, Run
from ganboard.db.runs import listing, queries
from ganboard.gan.config import invalid_reason
from ganboard.worker import formatting
from ganboard.worker.comparison import stored

TICK_SECONDS = 2.0
OFFERED = 1000  # newest runs in the chooser


@dataclass(frozen=True)
class View:
    """One tab: `controls` are drawn outside the part that updates and return what `draw` needs to
    know of them. One with `curves` has room for all runs, and draws groups of them as their
    means; some of its controls are `beside` the choice of groups."""

    draw: Callable[[Engine, Compared, Any], None]
    controls: Callable[[Engine, Compared], Any] = lambda engine, compared: None
    curves: bool = False
    every_run: bool = False  # has room for all of them too
    beside: Callable[[], None] = lambda: None


VIEWS = {
    "Losses": View(losses.draw, losses.controls, curves=True, beside=losses.difference_control),
    "Images": View(images.draw, images.controls),
    "Latent wall": View(wall.draw, wall.controls, every_run=True),
    "Quality": View(quality.draw, quality.controls, curves=True),
    "Timings": View(costs.draw, costs.controls),
    "Settings": View(
        lambda engine, compared, everything: settings.draw(compared, everything),
        lambda engine, compared: settings.controls(),
    ),
    "Panels": View(panels.draw, panels.controls, curves=True),
    "Parallel": View(parallel.draw, parallel.controls, every_run=True),
}
# one more line of the verdict would move everything below it
STEADY = ".st-key-conclusion {min-height: 5.5rem}"
FOLDED = 8  # runs that are listed in the chooser, more are behind a button


def page() -> None:
    engine = navigation.context().engine
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.title("Compare runs", anchor=False, width="content")
        tools = st.container(horizontal=True, width="content")
    runs = asked_runs(engine)
    base = choose(engine, runs)
    with tools:
        saved_views.show("compare")
    if base is None:
        st.caption(
            "Choose at least two runs."
            if queries.count_runs(engine) > 1
            else "There are not enough runs to compare: at least two are needed."
        )
        st.page_link(navigation.RUNS_PAGE, label="All runs", icon=":material/list:")
        return
    compared = Compared(runs, base)
    with tools:
        files.menu(engine, compared)
        with st.popover(
            "Open",
            icon=":material/open_in_full:",
            help="Pages of the runs, and other runs of the sweep.",
        ):
            draw_links(engine, runs)
    style.apply(STEADY)
    head = st.container()
    tabs = dict(
        zip(
            VIEWS,
            st.tabs(list(VIEWS), key="part", on_change="rerun", bind="query-params"),
            strict=True,
        )
    )
    name = next((name for name, tab in tabs.items() if tab.open), next(iter(VIEWS)))
    with tabs[name]:
        by = None
        if VIEWS[name].curves:
            with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
                by = grouping.control(runs)
                VIEWS[name].beside()
        options = VIEWS[name].controls(engine, _in_view(name, compared))
        waiting = st.skeleton(height=style.CHART)
        body = st.container()
    live = any(run.status not in ENDED for run in runs)
    st.fragment(tick, run_every=TICK_SECONDS if live else None)(
        compared.ids, base.id, name, by, options, head, body, live
    )
    waiting.empty()


def _in_view(name: str, compared: Compared) -> Compared:
    """The runs that a tab has room for."""
    return compared if VIEWS[name].curves or VIEWS[name].every_run else compared.few()


def asked_runs(engine: Engine) -> list[Run]:
    """The runs named in the URL, or the first ones of its sweep, with a message about those left
    out."""
    asked, sweep = navigation.runs_param(), navigation.sweep_param()
    if sweep and "runs" not in st.query_params:
        found = queries.sweep_runs(engine, sweep)
        if not found:
            st.caption(
                f":material/info: There is no sweep {sweep}: its runs were deleted, or the address"
                " is incomplete."
            )
        elif len(found) > navigation.MAX_COMPARED:
            st.caption(
                f":material/info: Showing the first {navigation.MAX_COMPARED} of the sweep's"
                f" {len(found)} runs; Parallel shows all of them."
            )
        return readable(found[: navigation.MAX_COMPARED])
    beyond = navigation.runs_beyond()
    if beyond:
        st.caption(
            f":material/info: At most {navigation.MAX_COMPARED} runs can be compared;"
            f" {formatting.integer(beyond)} more in the address were left out."
        )
    runs = queries.get_runs(engine, asked)
    unknown = [run_id for run_id in asked if run_id not in {run.id for run in runs}]
    if unknown:
        st.caption(f":material/info: Left out (not found): {', '.join(unknown)}.")
    return readable(runs)


def readable(runs: list[Run]) -> list[Run]:
    """Those with valid settings, with a message about the others."""
    reasons = {run.id: None if run.external else invalid_reason(run.config) for run in runs}
    for run_id, why in reasons.items():
        if why:
            st.caption(
                f":material/info: Left out (invalid settings): {run_id}. {formatting.escape(why)}"
            )
    return [run for run in runs if not reasons[run.id]]


def choose(engine: Engine, runs: list[Run]) -> Run | None:
    """Add and remove runs, and choose the baseline; None while fewer than two are chosen. The URL
    holds the choice."""
    chosen = [run.id for run in runs]
    offered = {run.id: run.name for run in runs} | dict(listing.names(engine, limit=OFFERED))
    # at first as a default, which the browser has at once: a value from here would be lost, and the
    # runs with it, if a click interrupts
    moved = "compared" in st.session_state and st.session_state["compared"] != chosen
    if moved:
        st.session_state["compared"] = chosen
    left, right = st.columns([3, 1])
    if len(runs) > FOLDED:
        left = left.popover(f"{len(runs)} runs", icon=":material/checklist:")
    left.multiselect(
        "Runs",
        list(offered),
        default=None if moved else chosen,
        # a session keeps the texts of all options
        format_func=lambda run_id: intern(f"{formatting.shorten(offered[run_id])} ({run_id})"),
        key="compared",
        max_selections=navigation.MAX_COMPARED,
        placeholder=f"Choose 2 to {navigation.MAX_COMPARED} runs",
        on_change=lambda: navigation.set_runs_param(st.session_state["compared"]),
    )
    if len(runs) < 2:
        return None
    usual = baseline.usual(runs).id
    if st.session_state.get("base", usual) not in chosen:
        st.session_state["base"] = usual
    base = right.selectbox(
        "Baseline",
        [usual, *(run_id for run_id in chosen if run_id != usual)],
        format_func=stored.unique_names(runs).__getitem__,  # a browser answers with the text
        key="base",
        bind="query-params",
        help="The run that ratios are relative to. At first the one with the fewest changes from"
        " its preset; of several, the oldest, which is the corner of a sweep.",
    )
    return next(run for run in runs if run.id == base)


def draw_links(engine: Engine, runs: list[Run]) -> None:
    """The way to the page of each run, and to the other runs of their sweeps."""
    for run in runs:
        label = formatting.escape(formatting.shorten(run.name, 60))
        st.page_link(
            navigation.RUN_PAGE,
            label=label,
            icon=formatting.STATUS[run.shown_status].icon,
            query_params={"run": run.id},
        )
    chosen = [run.id for run in runs]
    sweeps = dict.fromkeys(run.sweep for run in runs if run.sweep)
    others = [
        run.id
        for sweep in sweeps
        for run in queries.sweep_runs(engine, sweep)
        if run.id not in chosen
    ]
    more = others[: navigation.MAX_COMPARED - len(runs)]
    if more:
        st.button(
            f"Add {formatting.plural(len(more), 'run')} of the same sweep",
            icon=":material/add:",
            key="siblings",
            on_click=lambda: navigation.set_runs_param([*chosen, *more]),
            help="Runs launched together share a sweep",
        )


def tick(
    run_ids: list[str],
    baseline_id: str,
    name: str,
    by: Grouping | None,
    options: Any,
    head: DeltaGenerator,
    body: DeltaGenerator,
    live: bool,
) -> None:
    """Draw the head and the open tab from what the database says now; the whole page once a run is
    gone or the last has ended."""
    with errors.sentences():
        engine = navigation.context().engine
        runs = queries.get_runs(engine, run_ids)
        if len(runs) < len(run_ids) or any(run.status not in ENDED for run in runs) != live:
            st.rerun()
        compared = Compared(runs, next(run for run in runs if run.id == baseline_id), by)
        with head:
            comparison.draw_head(engine, compared)
        with body:
            shown = _in_view(name, compared)
            if len(shown.runs) < len(runs):
                st.caption(
                    f":material/info: This tab shows {len(shown.runs)} of the {len(runs)} runs:"
                    " the baseline and the first others. Losses, Quality, Panels and Latent wall"
                    " show all."
                )
            VIEWS[name].draw(engine, shown, options)


page()
