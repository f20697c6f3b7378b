"""One run: what it does now, its losses, images, quality, timings, rates, path, log and settings,
live while it is not ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ganboard.app import errors, navigation
from ganboard.app.run import actions as run_actions
from ganboard.app.run import (
    charts,
    devices,
    explain,
    fork,
    header,
    images,
    logged,
    notes,
    panels,
    quality,
    timings,
    wall,
)
from ganboard.app.run.log import tab as log_tab
from ganboard.app.run.recorded import records
from ganboard.app.run.requested import model, network_files, prediction, surface
from ganboard.app.runs import trash as trash_actions
from ganboard.app.theme import style
from ganboard.db.models import ENDED, Run
from ganboard.db.runs import queries, trash
from ganboard.gan.config import invalid_reason
from ganboard.gan.settings import registry
from ganboard.worker import formatting
from ganboard.worker.context import Context

TICK_SECONDS = 1.5
# how often an ended run that is followed checks for a newer one
POLL_SECONDS = 4.0
LATEST = "latest"


@dataclass(frozen=True)
class View:
    """One tab: `controls` are drawn outside the part that updates and return what `draw` needs to
    know of them, `below` after it."""

    draw: Callable[[Context, Run, Any], None] = lambda context, run, options: None
    controls: Callable[[Context, Run], Any] = lambda context, run: None
    below: Callable[[Context, Run, Any], None] = lambda context, run, options: None
    analysis: str | None = None  # that a model must declare for its runs to have the tab


def show_model(context: Context, run: Run, _options: None) -> None:
    """Versions of models, and networks as files."""
    model.show(context, run)
    network_files.show(context, run)


def draw_losses(context: Context, run: Run, options: charts.LossOptions) -> None:
    """The losses, and the panels that the person pinned."""
    charts.draw_losses(context.engine, run, options)
    panels.draw_pinned(context.engine, run)


VIEWS = {
    "Losses": View(
        draw_losses, lambda c, r: charts.loss_controls(), lambda c, r, o: fork.show(c, r)
    ),
    "Metrics": View(
        lambda c, r, o: logged.draw(c.engine, r, o), lambda c, r: charts.loss_controls()
    ),
    "Panels": View(lambda c, r, o: panels.draw(c.engine, r, o), panels.controls),
    "Images": View(lambda c, r, o: images.draw(c.engine, r)),
    "Latent wall": View(lambda c, r, o: wall.draw(c.engine, r, o), wall.controls),
    "Quality": View(lambda c, r, o: quality.draw(c.engine, r, o), quality.controls),
    "Explain": View(lambda c, r, o: explain.draw(c.engine, r)),
    "Prediction": View(below=prediction.show, analysis="prediction"),
    "Timings": View(lambda c, r, o: timings.draw(c, r, o), lambda c, r: timings.controls()),
    "Rates": View(
        lambda c, r, o: timings.draw_rates(c.engine, r, o), lambda c, r: timings.rate_controls()
    ),
    "Histograms": View(
        lambda c, r, o: charts.draw_histograms(c.engine, r, o),
        lambda c, r: charts.histogram_controls(),
    ),
    "Descent path": View(
        lambda c, r, o: charts.draw_path(c.engine, r, o),
        lambda c, r: charts.path_controls(),
        surface.show,
    ),
    "Devices": View(
        lambda c, r, o: devices.draw(c.engine, r, o), lambda c, r: devices.choose(c.engine, r)
    ),
    "System": View(
        lambda c, r, o: charts.draw_system(c.engine, r, o), lambda c, r: charts.events_control()
    ),
    "Log": View(log_tab.draw, log_tab.controls),
    "Events": View(lambda c, r, o: records.draw_events(c, r)),
    "Config": View(lambda c, r, o: records.draw_config(c, r)),
    "Model": View(below=show_model),
    "Notes": View(controls=notes.show),
}


# the tabs of a run that a script trains
OF_SCRIPTS = (
    "Losses",
    "Metrics",
    "Panels",
    "Images",
    "Latent wall",
    "System",
    "Log",
    "Events",
    "Config",
    "Notes",
)


def views_of(run: Run) -> list[str]:
    """The tabs of a run; a script that logs no pair of losses begins with its metrics."""
    if run.external:
        return sorted(OF_SCRIPTS, key=lambda name: name != "Metrics" or run.g_loss is not None)
    analyses = registry.known(run.config).spec.analyses
    return [
        name
        for name, view in VIEWS.items()
        if name != "Metrics" and (view.analysis is None or view.analysis in analyses)
    ]


@dataclass(frozen=True)
class Displayed:
    """What the part that updates was drawn for: when one of these changes, the whole page is drawn
    anew."""

    run_id: str
    status: str
    stopping: bool  # the buttons follow both
    following: bool  # the newest run, whichever it is
    newest: str | None  # run id when the page was drawn
    note_version: int  # the note is outside the part that updates


def page() -> None:
    context = navigation.context()
    asked = navigation.run_param()
    newest = queries.newest_run_id(context.engine)
    run_id = newest if asked == LATEST else asked
    run = queries.get_run(context.engine, run_id) if run_id else None
    if run is None:
        deleted = queries.get_run(context.engine, asked, trash_too=True) if asked else None
        if deleted is not None:
            in_trash(context, deleted)
        else:
            missing(context, asked=bool(st.query_params.get("run")) and asked != LATEST)
        return
    head = header.place(context, run)
    notes.line(context, run)
    if not run.external and (why := invalid_reason(run.config)):
        errors.report(
            f"Cannot display this run because its settings are invalid: {why} `ganboard show"
            f" {run.id}` prints them as stored."
        )
        run_actions.report_outcome(st.container())
        return
    if not run.external and (why := registry.missing(run.config)):
        errors.report(
            f"{why} Until then the run can be read, but not resumed or cloned.", "warning"
        )
    outcome = st.container()
    views = views_of(run)
    tabs = dict(
        zip(views, st.tabs(views, key="view", on_change="rerun", bind="query-params"), strict=True)
    )
    name = next((name for name, tab in tabs.items() if tab.open), views[0])
    with tabs[name]:
        options = VIEWS[name].controls(context, run)
        waiting = st.skeleton(height=style.CHART)
        body = st.container()
    current = Displayed(
        run.id,
        run.status,
        run.stop_requested_at is not None,
        asked == LATEST,
        newest,
        run.note_version,
    )
    every = TICK_SECONDS if run.status not in ENDED else POLL_SECONDS if current.following else None
    st.fragment(tick, run_every=every)(current, name, options, head, body)
    waiting.empty()
    with tabs[name]:
        VIEWS[name].below(context, run, options)
    run_actions.report_outcome(outcome)


def tick(
    current: Displayed, name: str, options: Any, head: header.Head, body: DeltaGenerator
) -> None:
    """Draw the head and the open tab from what the database says now; once its state has changed or
    it has gone, the whole page."""
    with errors.sentences():
        context = navigation.context()
        run = queries.get_run(context.engine, current.run_id)
        newest = queries.newest_run_id(context.engine)
        if run is None or run.status != current.status or run.note_version != current.note_version:
            st.rerun()
        if (run.stop_requested_at is not None) != current.stopping:
            st.rerun()
        if current.following and newest != current.newest:
            st.rerun()
        header.show(context, run, head, link(context, current, newest))
        with body:
            VIEWS[name].draw(context, run, options)


def link(context: Context, current: Displayed, newest: str | None) -> header.Link:
    """A quiet offer: to follow the newest run, to see a newer one, or to stay with this one."""
    if current.following:
        return header.Link(
            "Following the newest run: stop following",
            current.run_id,
            ":material/push_pin:",
            "The page switches to each newer run automatically.",
        )
    newer = queries.get_run(context.engine, newest) if newest and newest != current.newest else None
    if newer:
        return header.Link(
            f"Newer: {formatting.escape(formatting.shorten(newer.name, 30))}",
            newer.id,
            ":material/update:",
            "Submitted just now.",
        )
    return header.Link(
        "Follow the newest run",
        LATEST,
        ":material/update:",
        f"The address ?run={LATEST} always shows the newest run.",
    )


def in_trash(context: Context, run: Run) -> None:
    """A run in the trash: until when, and the way back."""
    assert run.deleted_at is not None
    st.title(formatting.escape(formatting.shorten(run.name, 80)), anchor=False)
    present = queries.database_time(context.engine)
    since = (present - run.deleted_at).total_seconds()
    left = (trash.removed_at(run.deleted_at) - present).total_seconds()
    st.warning(
        f"This run is in the trash. It was deleted {formatting.ago(since)} and will be removed with"
        f" all its files in {formatting.duration(max(0.0, left))}. Restored, it is as before:"
        f" {formatting.status_word(run.shown_status).lower()}, with"
        f" {formatting.plural(run.epoch, 'finished epoch')}.",
        icon=":material/delete:",
    )
    with st.container(horizontal=True, gap="small"):
        trash_actions.buttons(context, [run])
    st.page_link(navigation.RUNS_PAGE, label="All runs", icon=":material/list:")
    run_actions.report_outcome(st.container())


def missing(context: Context, *, asked: bool) -> None:
    """No run, or none that exists: say so and show the way on."""
    st.title("No such run" if asked else "No run selected", anchor=False)
    if asked:
        st.write("There is no run with this id. It was deleted, or the address is incomplete.")
    newest = queries.list_runs(context.engine, limit=5)
    if newest:
        st.write("The newest runs:")
    elif not asked:
        st.write("No run has been launched yet. Losses, images and timings of a run appear here.")
        if st.button("Launch a run", type="primary", icon=":material/rocket_launch:"):
            navigation.open_launch()
    for run in newest:
        label = (
            f"{formatting.escape(formatting.shorten(run.name))} ·"
            f" {formatting.status_word(run.shown_status)}"
        )
        st.page_link(
            navigation.RUN_PAGE,
            label=label,
            icon=formatting.STATUS[run.shown_status].icon,
            query_params={"run": run.id},
        )
    st.page_link(navigation.RUNS_PAGE, label="All runs", icon=":material/list:")


page()
