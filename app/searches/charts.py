"""The figures of a search: results by trial, all settings at once, setting by setting, and how much
each matters. What is too little data is said."""

from __future__ import annotations

import streamlit as st

from ganboard.app.compare.parallel import STYLE
from ganboard.app.launch import settings_form
from ganboard.app.theme import style
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.worker import formatting
from ganboard.worker.figures import parallel
from ganboard.worker.figures.many import search as figures
from ganboard.worker.figures.many.search import Dot
from ganboard.worker.searches.definition import IMPORTANCE_TRIALS
from ganboard.worker.searches.progress import REACHED, Progress

LEAST = 2  # finished runs that a comparison of settings needs
AXIS_PIXELS = 110


def dots(progress: Progress) -> list[Dot]:
    """The trials with a value: a result, or what an unfinished run has reached so far."""
    found = []
    for trial in progress.trials:
        value = progress.objective.value(trial)
        if value is not None and trial.run is not None:
            shown = progress.state(trial)
            shown = "finished" if shown == REACHED else shown  # either has a result
            found.append(Dot(trial.number, trial.run.name, shown, value, trial.params))
    return found


def draw(progress: Progress) -> None:
    """All figures of a search."""
    shown, label = dots(progress), progress.objective.label
    search_id = progress.search.id
    if not shown:
        waiting = progress.submitted > 0
        st.caption(
            "No run has a result yet: figures appear with the first evaluation."
            if waiting
            else "No run has been submitted yet."
        )
        return
    live_plotly(
        figures.by_trial(shown, objective=label, maximize=progress.objective.maximize),
        key=f"search-trials-{search_id}",
    )
    finished = [dot for dot in shown if dot.state == "finished"]
    _importance(progress)
    if len(finished) < LEAST:
        few = formatting.plural(len(finished), "finished run")
        st.caption(f"{few} so far: comparing settings needs at least {LEAST}.")
        return
    st.subheader("By setting", anchor=False)
    with st.grid(min_column_width=320, gap="small"):
        for axis in progress.space:
            live_plotly(
                figures.slice_of(
                    shown, axis.name, label=settings_form.label(axis.name), objective=label
                ),
                key=f"search-slice-{search_id}-{axis.name}",
            )
    st.subheader("Parallel coordinates", anchor=False)
    st.caption("Finished runs, one line each. Drag along an axis to select a range.")
    axes = {
        settings_form.label(axis.name): [dot.params[axis.name] for dot in finished]
        for axis in progress.space
    }
    axes[label] = [dot.value for dot in finished]
    style.apply(STYLE.replace("WIDTH", str(AXIS_PIXELS * len(axes))))
    with st.container(key="parallel_lines"):
        live_plotly(
            parallel.coordinates(
                axes, coloured=label, less_is_better=not progress.objective.maximize
            ),
            key=f"search-parallel-{search_id}",
        )


def _importance(progress: Progress) -> None:
    st.subheader("Importance of the settings", anchor=False)
    rated = progress.search.importance
    finished = len(progress.results)
    if not rated:
        few = formatting.plural(finished, "finished run")
        st.caption(
            f"{few} with a result: importance needs at least {IMPORTANCE_TRIALS}."
            if finished < IMPORTANCE_TRIALS
            else "Not computed yet: the driver of searches does so while the search runs."
        )
        return
    if not rated["shares"]:
        st.caption("All results are equal: no setting matters within its range.")
        return
    live_plotly(
        figures.importance(
            rated["shares"],
            labels={axis.name: settings_form.label(axis.name) for axis in progress.space},
        ),
        key=f"search-importance-{progress.search.id}",
    )
    st.caption(
        f"Share of the variation of results over the searched ranges, by fANOVA (Hutter et al."
        f" 2014) on {formatting.plural(int(rated['trials']), 'finished run')}."
    )
