"""The grid builder: settings that vary, the runs that come of it with their time and reasons, and
the button that launches them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from ganboard.app import auth, errors
from ganboard.app.launch import launched_sweep, plan, sweep_form, sweep_table
from ganboard.db.runs import queries
from ganboard.db.runs.runtime_estimation import History
from ganboard.gan.studies import Part, Study
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.studies import study
from ganboard.worker.submission import sweep
from ganboard.worker.submission.submit import Machines

REUSE = "grid_reuse"
STUDY = "grid_study"
# {"shown": names} and, once launched, "sweep" and "compare"; changed in place, which no rerun can
# interrupt
LAUNCHED = "grid_launched"


def draw(
    context: Context,
    base: Mapping[str, Any],
    here: Machines,
    history: History,
    *,
    preset: str,
    parent_id: str | None,
    queue: Callable[[], None],
) -> None:
    """The whole builder; `base` are the form's settings, and `queue()` shows when a run that is
    launched now would begin."""
    launched: dict[str, Any] = st.session_state.setdefault(LAUNCHED, {})
    with st.container(border=True, key="grid_builder"):
        st.subheader("Sweep", anchor=False)
        st.caption(
            "Every combination of the values below becomes a run. All other settings come from the"
            " form."
        )
        try:
            title, values, seeds = sweep_form.asked(base, preset)
            evaluated = sweep_form.evaluation(context, base, values, preset)
            base = {**base, **evaluated.settings}
            purpose = f"What is the effect of {' and '.join(values) or 'the seed'}?"
            asked: Study | None = Study(
                "grid", title, purpose, dict(base), (Part("grid", {}, values),), seeds
            )
            varied = sweep.repeated(values, base, seeds)
            grid = sweep.members(
                base,
                varied,
                title=title,
                data_dir=context.settings.data,
                here=here,
                history=history,
                finished=sweep.finished_runs(context, evaluated),
            )
            sweep_table.draw(grid, list(varied))
            st.caption(formatting.escape(evaluated.sentence))
        except CLEAR_ERRORS as error:
            errors.report(str(error))
            grid, asked, evaluated = [], None, sweep.Evaluation("")
        # in the place of the button, so that the result is seen
        if "sweep" in launched:
            launched_sweep.show(context, launched)
        elif grid and asked:
            _offer(context, grid, asked, launched, queue, preset, parent_id, evaluated)
        else:
            st.button(
                "Launch the sweep",
                key="grid_launch",
                type="primary",
                icon=":material/rocket_launch:",
                disabled=True,
            )


def _offer(
    context: Context,
    grid: Sequence[sweep.Member],
    asked: Study,
    launched: dict[str, Any],
    queue: Callable[[], None],
    preset: str,
    parent_id: str | None,
    evaluated: sweep.Evaluation,
) -> None:
    """What the grid amounts to, and the button that launches it."""
    chosen = _chosen(grid)
    _totals(grid, chosen, queue)
    as_study = st.toggle(
        "As a study",
        key=STUDY,
        help=(
            "The Studies page then shows figures, CSV files and a report. Finished runs with the"
            " same settings are always reused. A study must be complete: it cannot be launched if"
            " a combination is invalid."
        ),
        persist_state="session",
    )
    label = f"Launch {formatting.plural(len(chosen), 'run')}"
    clicked = st.button(
        label,
        key="grid_launch",
        type="primary",
        icon=":material/rocket_launch:",
        **auth.writer(disabled=not chosen),
    )
    names = [member.name for member in chosen]
    # a worker came or went, or a run finished, since the person saw the table
    if clicked and launched.get("shown") != names:
        errors.report(
            "The available hardware has changed: check the table, then launch again.", "warning"
        )
    elif clicked:
        with errors.sentences():
            if as_study:
                _launch_study(context, asked, launched)
            else:
                _launch(context, grid, chosen, launched, preset, parent_id, evaluated)
            st.rerun()
    launched["shown"] = names


def _chosen(grid: Sequence[sweep.Member]) -> list[sweep.Member]:
    """The runs that will be made: what can run and, on request, was not finished before."""
    able = [member for member in grid if not member.problem]
    finished = [member for member in able if member.finished]
    if not finished:
        return able
    reuse = st.toggle(
        f"Reuse {formatting.plural(len(finished), 'finished run')} with the same settings",
        value=True,
        key=REUSE,
        help=("Leaves them out of the sweep; the comparison shows the finished runs instead."),
        persist_state="session",
    )
    return [member for member in able if not (reuse and member.finished)]


def _totals(
    grid: Sequence[sweep.Member], chosen: Sequence[sweep.Member], queue: Callable[[], None]
) -> None:
    """Number of runs and estimated time, before launching."""
    refused = sum(member.problem is not None for member in grid)
    likely, low, high, unknown = sweep.totals(chosen)
    total = formatting.duration(likely) if high < 1.1 * low else plan.between(low, high)
    with st.grid(min_column_width=150, gap="small"):
        st.metric("Runs", formatting.integer(len(chosen)), help="Runs that will be launched")
        st.metric(
            "Invalid",
            formatting.integer(refused),
            help="Combinations that cannot run here; see the table for the reason",
        )
        st.metric(
            "Reused",
            formatting.integer(len(grid) - refused - len(chosen)),
            help="Already finished with the same settings",
        )
        st.metric(
            "Total time",
            "unknown" if unknown == len(chosen) else total,
            help=(
                "Runs one after another, including start-up, compilation, evaluation and saving"
                " where measured"
            ),
        )
    if unknown and unknown < len(chosen):
        st.caption(
            f"The total does not include {formatting.plural(unknown, 'run')} without a similar"
            " measurement."
        )
    if refused == len(grid):
        errors.report("No combination can run; see the table for the reasons. Choose other values.")
    elif not chosen:
        st.caption("All of these runs are already finished. Turn off reuse to train them again.")
    else:
        queue()


def _launch(
    context: Context,
    grid: Sequence[sweep.Member],
    chosen: Sequence[sweep.Member],
    launched: dict[str, Any],
    preset: str,
    parent_id: str | None,
    evaluated: sweep.Evaluation,
) -> None:
    made = sweep.launch(context, chosen, preset=preset, parent_id=parent_id)
    # at once and in place: the second click of a double click interrupts this drawing of the page
    # at the next word to Streamlit
    launched["sweep"] = made
    ids = iter(run.id for run in queries.sweep_runs(context.engine, made))
    able = [member for member in grid if not member.problem]
    launched["compare"] = [
        next(ids) if member in chosen else str(member.finished) for member in able
    ]
    reused = [str(member.finished) for member in able if member not in chosen]
    sweep.evaluate_reused(context, reused, evaluated)


def _launch_study(context: Context, asked: Study, launched: dict[str, Any]) -> None:
    stored, _ = study.launch(context, asked)
    launched["sweep"] = launched["study"] = stored.id
    launched["compare"] = [run.id for run in study.runs_of(context, stored.id)]
