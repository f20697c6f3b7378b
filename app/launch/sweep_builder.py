"""The grid builder: settings that vary, the runs that come of it with their time and reasons, and
the button that launches them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import streamlit as st

from ganboard.app import auth, errors
from ganboard.app.launch import launched_sweep, plan, settings_form, study_diff, sweep_table
from ganboard.app.launch.typed import whole
from ganboard.db import studies
from ganboard.db.runs import queries
from ganboard.db.runs.runtime_estimation import History
from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.studies import Part, Study
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.studies import study
from ganboard.worker.submission import sweep
from ganboard.worker.submission.submit import Machines

FIELDS = "grid_fields"
SEEDS = "grid_seeds"
NAME = "grid_name"
REUSE = "grid_reuse"
STUDY = "grid_study"
# {"shown": names} and, once launched, "sweep" and "compare"; changed in place, which no rerun can
# interrupt
LAUNCHED = "grid_launched"
USUAL = ("batch_size", "precision")  # what a grid varies until somebody chooses
SUGGESTED = {
    "batch_size": "32, 64, 128, 256",
    "precision": ["float32", "mixed_bfloat16"],
    "replicas": "1, 2",
}


def key(name: str) -> str:
    """The widget's key of a setting's values."""
    return f"grid_values_{name}"


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
            "Every combination of the values below becomes a run. All other settings are those of"
            " the form."
        )
        try:
            title, values, seeds = _asked(base, preset)
            purpose = f"What changes with {' and '.join(values) or 'the seed'}?"
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
                finished=sweep.finished_runs(context),
            )
            sweep_table.draw(grid, list(varied))
        except CLEAR_ERRORS as error:
            errors.report(str(error))
            grid, asked = [], None
        # where the button was, so that the person who pressed it sees what became of it
        if "sweep" in launched:
            launched_sweep.show(context, launched)
        elif grid and asked:
            _offer(context, grid, asked, launched, queue, preset, parent_id)
        else:
            st.button(
                "Launch the grid",
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
) -> None:
    """What the grid amounts to, and the button that launches it."""
    chosen = _chosen(grid)
    _totals(grid, chosen, queue)
    as_study = st.toggle(
        "As a study",
        key=STUDY,
        help=(
            "The page Studies then shows their figures, with the numbers as CSV, and a report;"
            " finished runs with the same settings are used in any case. A study has no holes: no"
            " combination may be refused."
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
            "What can run here has changed: check the table again, then press once more.", "warning"
        )
    elif clicked:
        with errors.sentences():
            if as_study:
                _launch_study(context, asked, launched)
            else:
                _launch(context, grid, chosen, launched, preset, parent_id)
            st.rerun()
    launched["shown"] = names


def _asked(base: Mapping[str, Any], preset: str) -> tuple[str, dict[str, Sequence[Any]], int]:
    """What the names begin with, the settings that vary, and how often all is repeated.

    Raises ConfigError (a sentence for each mistake) and BadName.
    """
    names = st.multiselect(
        "Settings to vary",
        list(RunConfig.model_fields),
        default=list(USUAL),
        format_func=settings_form.label,
        key=FIELDS,
        help="Any setting of the form. The last one varies fastest.",
        persist_state="session",
    )
    with st.grid(min_column_width=240, gap="small", vertical_alignment="bottom"):
        given = {name: _values(name, base) for name in names}
        repetitions = st.text_input(
            "Repetitions",
            "1",
            key=SEEDS,
            help=(
                "Repetitions per combination, with consecutive seeds: shows how"
                " far chance alone moves the results."
            ),
            persist_state="session",
        )
        typed = st.text_input(
            "Name of the grid",
            key=NAME,
            max_chars=sweep.TITLE_LENGTH,
            placeholder=sweep.check_title("", preset, base),
            help="Prefix of every run's name; the varied settings follow.",
            persist_state="session",
        )
    varied: dict[str, Sequence[Any]] = {}
    mistakes = settings_form.mistakes(base)
    for name, values in given.items():
        try:
            varied[name] = (
                sweep.values(name, values) if isinstance(values, str) else sweep.typed(name, values)
            )
        except ConfigError as error:
            mistakes.append(str(error))
    if mistakes:
        raise ConfigError(" ".join(mistakes))
    seeds = whole("Repetitions", repetitions or "", 1, sweep.LIMIT)
    if not varied and seeds == 1:
        raise ConfigError("Nothing varies: choose a setting above, or more than one repetition.")
    return sweep.check_title(typed, preset, base), varied, seeds


def _values(name: str, base: Mapping[str, Any]) -> str | list[Any]:
    """A widget for the values of one setting, which begins with that of the form."""
    field, label = RunConfig.model_fields[name], settings_form.label(name)
    about = formatting.escape(
        f"{field.description}. Allowed: {settings_form.allowed(field)}. Setting: {name}"
    )
    common: dict[str, Any] = {"key": key(name), "help": about, "persist_state": "session"}
    kind, suggested = field.annotation, SUGGESTED.get(name)
    if kind is bool:
        return st.multiselect(
            label,
            [False, True],
            default=[False, True],
            format_func=study_diff.format_value,
            **common,
        )
    if get_origin(kind) is Literal:
        return st.multiselect(
            label, list(get_args(kind)), default=suggested or [base[name]], **common
        )
    first = suggested or study_diff.format_value(base[name])
    return (
        st.text_input(
            label, value=first, max_chars=1000, placeholder="values, with commas between", **common
        )
        or ""
    )


def _chosen(grid: Sequence[sweep.Member]) -> list[sweep.Member]:
    """The runs that will be made: what can run and, on request, was not finished before."""
    able = [member for member in grid if not member.problem]
    finished = [member for member in able if member.finished]
    if not finished:
        return able
    reuse = st.toggle(
        f"Re-use {formatting.plural(len(finished), 'finished run')} with the same settings",
        value=True,
        key=REUSE,
        help=(
            "Leaves them out of the grid; the comparison afterwards shows the finished ones in"
            " their place."
        ),
        persist_state="session",
    )
    return [member for member in able if not (reuse and member.finished)]


def _totals(
    grid: Sequence[sweep.Member], chosen: Sequence[sweep.Member], queue: Callable[[], None]
) -> None:
    """How many runs and how long, before anybody presses the button."""
    refused = sum(member.problem is not None for member in grid)
    likely, low, high, unknown = sweep.totals(chosen)
    total = formatting.duration(likely) if high < 1.1 * low else plan.between(low, high)
    with st.grid(min_column_width=150, gap="small"):
        st.metric("Runs", formatting.integer(len(chosen)), help="That the button below launches")
        st.metric(
            "Refused",
            formatting.integer(refused),
            help="Combinations that cannot run here; the table gives the reason",
        )
        st.metric(
            "Re-used",
            formatting.integer(len(grid) - refused - len(chosen)),
            help="Already finished with the same settings",
        )
        st.metric(
            "Time in all",
            "unknown" if unknown == len(chosen) else total,
            help=(
                "One run after another, with starting, compiling, evaluation and saving where that"
                " was measured"
            ),
        )
    if unknown and unknown < len(chosen):
        st.caption(
            f"The time leaves out {formatting.plural(unknown, 'run')} of which nothing near was"
            " measured."
        )
    if refused == len(grid):
        errors.report("No combination can run; the table gives the reasons. Choose other values.")
    elif not chosen:
        st.caption("All of these runs are finished already: switch re-use off to train them again.")
    else:
        queue()


def _launch(
    context: Context,
    grid: Sequence[sweep.Member],
    chosen: Sequence[sweep.Member],
    launched: dict[str, Any],
    preset: str,
    parent_id: str | None,
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


def _launch_study(context: Context, asked: Study, launched: dict[str, Any]) -> None:
    stored, _ = study.launch(context, asked)
    launched["sweep"] = launched["study"] = stored.id
    launched["compare"] = list(
        dict.fromkeys(
            run.id for runs in studies.runs(context.engine, stored.id).values() for run in runs
        )
    )
