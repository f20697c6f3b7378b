"""A search on its page: how far it is, its best run, its figures and its trials."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ganboard.app import errors, navigation
from ganboard.app.launch import settings_form, study_diff
from ganboard.app.searches import actions, charts
from ganboard.db import heartbeats
from ganboard.db.models import Search
from ganboard.db.searches import searches
from ganboard.db.searches.trials import Trial
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.searches import progress as progresses
from ganboard.worker.searches.definition import NO_DRIVER
from ganboard.worker.searches.progress import DELETED, REACHED, REFUSED, Progress

EVERY = 3.0  # seconds between reads of a search that runs
BADGES = {
    searches.RUNNING: ":blue-badge[:material/play_arrow: Running]",
    searches.STOPPED: ":orange-badge[:material/stop: Stopped]",
    searches.FINISHED: ":green-badge[:material/check: Finished]",
    searches.FAILED: ":red-badge[:material/error: Failed]",
}
WORDS = {REFUSED: "Refused", DELETED: "Deleted", REACHED: "Target reached"}


def show(context: Context, search: Search) -> None:
    """The whole of a search; it is drawn anew while it runs."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.subheader(formatting.escape(search.name), anchor=False, width="content")
            st.markdown(BADGES[search.state], width="content")
        actions.buttons(context, search)
    going = search.state == searches.RUNNING
    st.fragment(_live, run_every=EVERY if going else None)(context, search.id, search.state)


def _live(context: Context, search_id: str, before: str) -> None:
    search = searches.get(context.engine, search_id)
    if search is None or search.state != before:
        st.rerun()
    found = progresses.read(context, search)
    if search.message and search.state in (searches.RUNNING, searches.FAILED):
        errors.report(search.message, "warning" if search.state == searches.RUNNING else "error")
    elif search.message:
        st.caption(formatting.escape(search.message))
    alive = any(one.alive for one in heartbeats.search_drivers(context.engine))
    if search.state == searches.RUNNING and not alive:
        errors.report(NO_DRIVER, "warning")
    _bar(found)
    _metrics(found)
    _best(found)
    charts.draw(found)
    _table(found)


def _bar(found: Progress) -> None:
    budget = found.search.runs
    left = found.seconds_left
    about = f" · about {formatting.duration(left[0])} left" if left else ""
    st.progress(
        min(1.0, found.ended / budget),
        text=f"{found.ended} of {formatting.plural(budget, 'run')} ended{about}",
    )
    source = f" Time left: {left[1]}." if left else ""
    sense = "Maximize" if found.objective.maximize else "Minimize"
    st.caption(formatting.escape(f"{sense}: {found.objective.label}. {found.method}.{source}"))


def _metrics(found: Progress) -> None:
    states = found.states
    hours = found.search.hours
    with st.grid(min_column_width=130, gap="small"):
        timed = found.objective.kind == "seconds"
        best = None if found.best is None else found.best[1]
        st.metric(
            "Best time to target" if timed else found.objective.label,
            formatting.duration(best) if timed else formatting.decimal(best, 2),
            help="Pruned and failed runs have no result, nor stopped ones that missed the target",
        )
        st.metric("Finished", formatting.integer(found.finished))
        st.metric(
            "Pruned", formatting.integer(states["pruned"]), help=formatting.STATUS["pruned"].meaning
        )
        st.metric("Failed or stopped", formatting.integer(states["failed"] + states["stopped"]))
        st.metric(
            "Refused",
            formatting.integer(states[REFUSED]),
            help="Combinations that cannot run; they do not count towards the budget",
        )
        st.metric(
            "Training",
            formatting.duration(3600 * found.hours or None),
            help=(
                "Training time of all runs"
                + ("" if hours is None else f", of at most {hours:g} hours")
            ),
        )


def _best(found: Progress) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if found.best and (run := found.best[0].run):
            st.page_link(
                navigation.RUN_PAGE,
                label=f"Best run: {formatting.escape(formatting.shorten(run.name, 60))}",
                icon=":material/trophy:",
                query_params={"run": run.id},
            )
        st.page_link(
            navigation.RUNS_PAGE,
            label="Its runs",
            icon=":material/list:",
            query_params={"q": f"sweep:{found.search.id}"},
        )
        ids = [trial.run.id for trial, _ in found.results if trial.run]
        if len(ids) > 1:
            st.page_link(
                navigation.COMPARE_PAGE,
                label="Compare the finished ones",
                icon=":material/compare_arrows:",
                query_params={"runs": ",".join(ids[: navigation.MAX_COMPARED])},
            )


def _table(found: Progress) -> None:
    if not found.trials:
        return
    st.subheader("Trials", anchor=False)
    rows = []
    for trial in found.trials:
        shown = found.state(trial)
        row = {
            "Trial": trial.number,
            "Run": trial.run.name if trial.run else "–",
            "State": WORDS.get(shown) or formatting.status_word(shown),
            found.objective.label: found.objective.value(trial),
        }
        for axis in found.space:
            row[settings_form.label(axis.name)] = study_diff.format_value(trial.params[axis.name])
        row["Remark"] = _remark(trial)
        rows.append(row)
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(38 + 36 * len(rows), 460),
        key="trials",
        placeholder="–",
        column_config={
            found.objective.label: st.column_config.NumberColumn(
                format="%.4g",
                help="The result of a finished run, or what another has reached so far",
            )
        },
    )


def _remark(trial: Trial) -> str:
    if trial.problem:
        return trial.problem
    if trial.run and trial.run.status == "stopped" and not trial.run.attempt:
        return "Never started"
    if trial.pruned_epoch is None or trial.run is None:
        return ""
    if trial.run.pruned_at is None:
        return f"Pruned at epoch {trial.pruned_epoch}, then resumed"
    if trial.run.status == "finished":
        return f"Finished before the pruner's stop at epoch {trial.pruned_epoch} took effect"
    return f"Pruned at epoch {trial.pruned_epoch}"
