"""What can be done with selected runs: open, compare, stop, resume, evaluate, tag, archive, delete.
Also used by the page of one run."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ganboard.app import auth, errors, navigation
from ganboard.app.run.requested import evaluation
from ganboard.app.widgets import table_selection
from ganboard.db.models import ACTIVE, ENDED, Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries, trash
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.submission import submit

OUTCOME = "run_actions_outcome"
SELECTED = "runs_selected"
GONE = "run_actions_gone"
TO_TRASH = "Move to the trash, from which runs can be restored for a week."
SCRIPTS = "A script trains this run. Run the script again to train it again."


def bar(context: Context) -> None:
    """Buttons for the selected runs; those that cannot apply are off and say why."""
    selected = st.session_state.get(SELECTED, [])
    runs = queries.get_runs(context.engine, selected) if selected else []
    stoppable = [run for run in runs if run.status not in ENDED and run.stop_requested_at is None]
    resumable = [run for run in runs if run.status in ("stopped", "failed") and not run.external]
    ended = [run for run in runs if run.status in ENDED and run.archived_at is None]
    archived = [run for run in runs if run.archived_at is not None]
    deletable = [run for run in runs if run.status not in ACTIVE]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="run_actions"):
        if st.button(
            "Open", icon=":material/open_in_full:", disabled=len(runs) != 1, help="Select one run"
        ):
            navigation.open_run(runs[0].id)
        comparable = 2 <= len(runs) <= navigation.MAX_COMPARED
        if st.button(
            "Compare",
            icon=":material/compare_arrows:",
            disabled=not comparable,
            help=f"Select 2 to {navigation.MAX_COMPARED} runs",
        ):
            navigation.open_compare([run.id for run in runs])
        if st.button(
            "Clone",
            icon=":material/content_copy:",
            disabled=len(runs) != 1 or runs[0].external,
            help=SCRIPTS
            if any(run.external for run in runs)
            else "Edit a copy of a run's settings",
        ):
            navigation.open_launch(clone=runs[0].id)
        if st.button(
            "Stop",
            icon=":material/stop:",
            **auth.writer("Stops after the current step; can be resumed", disabled=not stoppable),
        ):
            _each(stoppable, "Stopping {}.", lambda run: submit.stop(context, run.id))
        if st.button(
            "Resume",
            icon=":material/resume:",
            **auth.writer(
                "Stopped and failed runs resume from their latest checkpoint",
                disabled=not resumable,
            ),
        ):
            _each(resumable, "Resuming {}.", lambda run: submit.resume(context, run.id))
        able = evaluation.possible(context, runs)
        if st.button(
            "Evaluate",
            icon=":material/monitoring:",
            **auth.writer("Evaluate stored checkpoints that training did not", disabled=not able),
        ):
            _each(
                [run for run in runs if run.id in able],
                "Requested the evaluation of {}.",
                lambda run: evaluation.ask(context, [run.id]),
            )
        if st.button(
            "Tags",
            icon=":material/label:",
            **auth.writer("Add labels for finding and grouping runs", disabled=not runs),
        ):
            edit_tags(context, runs)
        if archived and not ended:
            if st.button(
                "Restore",
                icon=":material/unarchive:",
                **auth.writer("Show them in the default list again"),
            ):
                _each(
                    archived,
                    "Restored {}.",
                    lambda run: run_annotations.restore(context.engine, run_ids=[run.id]),
                )
        elif st.button(
            "Archive",
            icon=":material/archive:",
            **auth.writer(
                "Hide ended runs from the default list; nothing is deleted", disabled=not ended
            ),
        ):
            _each(
                ended,
                "Archived {}.",
                lambda run: run_annotations.archive(context.engine, run_ids=[run.id]),
            )
        if st.button(
            "Delete",
            key="delete_runs",
            icon=":material/delete:",
            **auth.writer(f"{TO_TRASH} Runs that train must be stopped.", disabled=not deletable),
        ):
            delete(context, deletable)
            st.rerun()
        selection(runs)


def selection(runs: list[Run]) -> None:
    """How many runs are selected, and a way to select none."""
    st.caption(_describe(len(runs)), width="content")
    if runs and st.button("Clear", type="tertiary", help="Select none"):
        select([])
        st.rerun()


def select(run_ids: list[str]) -> None:
    """Make these the selected runs, whatever tables were drawn before."""
    st.session_state[SELECTED] = run_ids
    table_selection.overrule()


def _describe(selected: int) -> str:
    return (
        f"{formatting.plural(selected, 'run')} selected" if selected else "Select runs in the table"
    )


@st.dialog("Tags", icon=":material/label:")
def edit_tags(context: Context, runs: list[Run]) -> None:
    """Add tags to runs, and take tags away from them."""
    present = run_annotations.tags_of(context.engine, [run.id for run in runs])
    carried = sorted({tag for tags in present.values() for tag in tags})
    of = (
        f"“{formatting.escape(formatting.shorten(runs[0].name, 40))}”"
        if len(runs) == 1
        else f"these {len(runs)} runs"
    )
    st.multiselect(
        "Add",
        run_annotations.all_tags(context.engine),
        accept_new_options=True,
        key="tags_added",
        placeholder="Type or choose a tag",
        help=(
            f"Up to {run_annotations.TAG_LENGTH} letters, digits, spaces and - _ . : each, and"
            f" {run_annotations.TAGS_PER_RUN} tags per run"
        ),
    )
    st.multiselect(
        "Remove",
        carried,
        key="tags_removed",
        placeholder="None" if carried else f"No tag is on {of}",
        disabled=not carried,
    )
    st.button("Save", type="primary", key="tags_saved", on_click=_save_tags, args=(context, runs))


def _save_tags(context: Context, runs: list[Run]) -> None:
    added, removed = (st.session_state.get(key, []) for key in ("tags_added", "tags_removed"))

    def change(run: Run) -> None:
        run_annotations.remove_tags(context.engine, run_ids=[run.id], tags=removed)
        run_annotations.add_tags(context.engine, run_ids=[run.id], tags=added)

    _each(runs, "Tagged {}.", change)


def delete(context: Context, runs: list[Run]) -> None:
    """Move runs to the trash; on the page of a run it continues to the list."""
    act(runs, "Moved {} to the trash.", lambda run: trash.move(context.engine, run_id=run.id))
    leave_page_of_run()


def leave_page_of_run() -> None:
    """Have the next script continue to the list, if this is the page of a run."""
    st.session_state[GONE] = "run" in st.query_params  # then the address names what was deleted


def leave_deleted() -> None:
    """Continue to the list if the run of this page has just been deleted; pages cannot be left from
    where that happens."""
    if st.session_state.pop(GONE, False):
        navigation.open_runs()


def _each(runs: list[Run], done: str, action: Callable[[Run], object]) -> None:
    act(runs, done, action)
    st.rerun()


def act(runs: list[Run], done: str, action: Callable[[Run], object]) -> None:
    """Act on every run, keep going past refusals, and store a message for the next drawing of a
    page: `done` with the number of runs."""
    refused = []
    for run in runs:
        try:
            action(run)
        except CLEAR_ERRORS as error:
            refused.append(str(error))
    st.session_state[OUTCOME] = (
        (
            done.format(formatting.plural(len(runs) - len(refused), "run"))
            if len(refused) < len(runs)
            else ""
        ),
        refused,
    )


def report_outcome(place: DeltaGenerator) -> None:
    """Say in `place` what the last action did; call it once, at the end of a page."""
    message, refused = st.session_state.pop(OUTCOME, ("", []))
    if message:
        st.toast(message, icon=":material/check:")
    with place:
        for sentence in refused:
            errors.report(sentence)
