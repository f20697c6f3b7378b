"""What can be done with selected runs: open, compare, stop, resume, delete. Also used by the page of one run."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import errors, state, text
from db import queries
from db.models import ACTIVE, ENDED, Run
from worker import submit
from worker.context import Context
from worker.errors import CLEAR_ERRORS

OUTCOME = "run_actions_outcome"


def bar(context: Context, run_ids: list[str]) -> None:
    """Buttons for the selected runs; those that cannot apply are off and say why."""
    runs = queries.get_runs(context.engine, run_ids)
    stoppable = [run for run in runs if run.status not in ENDED and run.stop_requested_at is None]
    resumable = [run for run in runs if run.status in ("stopped", "failed")]
    deletable = [run for run in runs if run.status not in ACTIVE]
    with st.container(horizontal=True, vertical_alignment="center", key="run_actions"):
        if st.button("Open", icon=":material/open_in_full:", disabled=len(runs) != 1, help="Select one run"):
            state.open_run(runs[0].id)
        comparable = 2 <= len(runs) <= state.MAX_COMPARED
        if st.button("Compare", icon=":material/compare_arrows:", disabled=not comparable, help=f"Select 2 to {state.MAX_COMPARED} runs"):
            state.open_compare([run.id for run in runs])
        if st.button("Clone", icon=":material/content_copy:", disabled=len(runs) != 1, help="Edit a copy of one run's settings"):
            state.open_launch(clone=runs[0].id)
        if st.button("Stop", icon=":material/stop:", disabled=not stoppable, help="Ends after its present step; can be resumed"):
            _each(stoppable, "Stopping", lambda run: submit.stop(context, run.id))
        if st.button(
            "Resume", icon=":material/resume:", disabled=not resumable, help="Stopped and failed runs go on from their last checkpoint"
        ):
            _each(resumable, "Resuming", lambda run: submit.resume(context, run.id))
        if st.button(
            "Delete", icon=":material/delete:", disabled=not deletable, help="Removes runs that do not train, checkpoints included"
        ):
            confirm_delete(context, deletable)
        st.caption(f"{text.plural(len(runs), 'run')} selected" if runs else "Select runs in the table", width="content")


@st.dialog("Delete for good?", icon=":material/delete:")
def confirm_delete(context: Context, runs: list[Run]) -> None:
    """Ask, then delete; `runs` must not be training."""
    st.write(f"The losses, images, log and checkpoints of {'this run' if len(runs) == 1 else f'these {len(runs)} runs'} will be removed:")
    with st.container(height=160 if len(runs) > 4 else "content", border=True):
        for run in runs:
            st.text(f"{text.shorten(run.name, 60)}  ({run.id})")
    st.button(
        f"Delete {text.plural(len(runs), 'run')}",
        type="primary",
        key="delete_confirmed",
        on_click=lambda: _each(runs, "Deleted", lambda run: submit.delete(context, run.id)),
    )


def _each(runs: list[Run], done: str, action: Callable[[Run], object]) -> None:
    """Act on every run, keep going past refusals, and leave words about it for the next drawing of the page."""
    refused = []
    for run in runs:
        try:
            action(run)
        except CLEAR_ERRORS as error:
            refused.append(str(error))
    st.session_state[OUTCOME] = (f"{done} {text.plural(len(runs) - len(refused), 'run')}." if len(refused) < len(runs) else "", refused)
    st.rerun()


def tell_outcome(place: DeltaGenerator) -> None:
    """Say in `place` what the last action did; call it once, at the end of a page."""
    message, refused = st.session_state.pop(OUTCOME, ("", []))
    if message:
        st.toast(message, icon=":material/check:")
    with place:
        for sentence in refused:
            errors.tell(sentence)
