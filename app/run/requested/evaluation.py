"""Evaluations of stored checkpoints: a button, then progress, then the page with the results. The
analysis worker computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from ganboard.app import auth, errors, request_progress
from ganboard.db import requests
from ganboard.db.models import ACTIVE, ENDED, Request, Run
from ganboard.db.runs import evaluations
from ganboard.db.runs.imports import IMPORTED
from ganboard.db.runs.listing import Listed
from ganboard.gan.settings import registry
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context

TICK_SECONDS = 1.0
POLL_SECONDS = 4.0  # until a run that trains has a checkpoint
ERRORS = 3  # that are shown of many runs
NAMED = 5  # epochs
REFUSED = "evaluation_refused"
WAITING = "Waiting for the analysis worker, which may be busy with another request."
HELP = (
    "Evaluates the stored checkpoints of finished epochs, as training does with quality_every. The"
    " results appear on all pages."
)

AnyRun = Run | Listed


def possible(context: Context, runs: Sequence[AnyRun]) -> dict[str, list[int]]:
    """The epochs that can be evaluated now, for each of the runs that has some, in their order."""
    able = [run.id for run in runs if _reason(run) is None]
    found = evaluations.pending(context.engine, able) if able else {}
    return {run_id: found[run_id] for run_id in able if run_id in found}


def unevaluated(context: Context, runs: Sequence[AnyRun]) -> list[AnyRun]:
    """Those without any evaluation."""
    evaluated = evaluations.last_epochs(context.engine, [run.id for run in runs])
    return [run for run in runs if run.id not in evaluated]


def ask(context: Context, run_ids: Sequence[str]) -> None:
    """Ask for the evaluation of these runs; what waits already is not asked twice. Raises
    NotAllowed, UnknownRun."""
    for run_id in run_ids:
        requests.ask(context.engine, requests.EVALUATION, [run_id], {})


def of_run(context: Context, run: Run) -> None:
    """For the tab Quality of a run: what is not evaluated, and the button."""
    epochs = possible(context, [run]).get(run.id, [])
    if epochs:
        named = ", ".join(map(str, epochs[-NAMED:])) + " and earlier" * (len(epochs) > NAMED)
        one = len(epochs) == 1
        stored = f"Epoch {named} is stored as a checkpoint"
        several = f"Epochs {named} are stored as checkpoints"
        sentence = f"{stored if one else several} and not evaluated."
    elif run.status in ENDED and unevaluated(context, [run]):
        sentence = _reason(run) or _absence(run)
    else:
        sentence = ""
    _offer(context, [run], [run], sentence, key="evaluate", label="Evaluate")


def of_runs(context: Context, runs: Sequence[AnyRun]) -> None:
    """For comparisons: how many of the runs have no evaluation, and the button for them."""
    without = unevaluated(context, runs)
    coming = [run for run in without if run.status not in ENDED and run.config.get("quality_every")]
    able = possible(context, without)
    others = [run for run in without if run not in coming and run.id not in able]
    sentence = ""
    if without:
        sentence = f"{len(without)} of {formatting.plural(len(runs), 'run')} {_have(without)} no"
        sentence += " evaluation."
    if coming:
        sentence += f" {len(coming)} will be evaluated while training."
    if others:
        sentence += f" {len(others)} {_have(others)} no checkpoint of a finished epoch to evaluate."
    label = "Evaluate it" if len(able) == 1 else "Evaluate them"
    _offer(context, runs, without, sentence, key="evaluate_all", label=label)


def _have(runs: Sequence[AnyRun]) -> str:
    return "has" if len(runs) == 1 else "have"


def waiting(context: Context) -> None:
    """How far the requested evaluations of all runs are; nothing while there are none."""
    found = list(requests.newest_evaluations(context.engine).values())
    st.fragment(_waiting, run_every=TICK_SECONDS if found else None)(context, bool(found))


def _offer(
    context: Context,
    runs: Sequence[AnyRun],
    lacking: Sequence[AnyRun],
    sentence: str,
    *,
    key: str,
    label: str,
) -> None:
    """The sentence with a button where any of the runs that are `lacking` can be evaluated;
    progress while any of all `runs` is; what went wrong. Draws the whole page anew once there are
    results."""
    state = _State.read(context, runs, lacking)
    going = any(run.status not in ENDED and _reason(run) is None for run in lacking)
    every = TICK_SECONDS if state.waiting else POLL_SECONDS if going and not state.able else None
    st.fragment(_draw, run_every=every)(context, runs, lacking, sentence, key, label, state.version)


@dataclass(frozen=True)
class _State:
    """What is known of the evaluations of some runs."""

    waiting: list[Request]
    failed: list[Request]
    able: list[str]  # runs that can be evaluated
    version: tuple[bool, bool, int]  # the page is drawn anew when it changes

    @classmethod
    def read(cls, context: Context, runs: Sequence[AnyRun], lacking: Sequence[AnyRun]) -> _State:
        ids = [run.id for run in runs]
        newest = requests.newest_evaluations(context.engine, ids)
        waits = [one for one in newest.values() if one.answered_at is None]
        able = list(possible(context, lacking))
        failed = [one for one in newest.values() if one.error and one.run_id in able]
        evaluated = sum(evaluations.last_epochs(context.engine, ids).values())
        return cls(waits, failed, able, (bool(waits), bool(able), evaluated))


def _draw(
    context: Context,
    runs: Sequence[AnyRun],
    lacking: Sequence[AnyRun],
    sentence: str,
    key: str,
    label: str,
    drawn: tuple[bool, bool, int],
) -> None:
    with errors.sentences():
        state = _State.read(context, runs, lacking)
        if state.version != drawn:
            st.rerun()
        if refused := st.session_state.pop(REFUSED, None):
            errors.report(refused)
        if state.waiting:
            _progress(context, state.waiting)
            return
        if not sentence and not state.able:
            return
        for text in list(dict.fromkeys(one.error for one in state.failed))[:ERRORS]:
            errors.report(text or "", "warning")
        with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_offer"):
            if sentence:
                st.caption(formatting.escape(sentence), width="content")
            if state.able:
                st.button(
                    label,
                    icon=":material/monitoring:",
                    key=key,
                    on_click=_ask,
                    args=(context, state.able),
                    **auth.writer(HELP),
                )


def _ask(context: Context, run_ids: Sequence[str]) -> None:
    try:
        ask(context, run_ids)
    except CLEAR_ERRORS as error:
        st.session_state[REFUSED] = str(error)


def _waiting(context: Context, waited: bool) -> None:
    with errors.sentences():
        found = list(requests.newest_evaluations(context.engine).values())
        if bool(found) != waited:
            st.rerun()
        if found:
            _progress(context, found)


def _progress(context: Context, waits: Sequence[Request]) -> None:
    """Of the request that is computed, and how many wait behind it."""
    current = next((one for one in waits if one.claimed_at is not None), waits[0])
    others = len(waits) - 1
    about = f"Evaluation of run {current.run_id}" if others else "Evaluation"
    behind = f" ({formatting.plural(others, 'more run')} waiting)" if others else ""
    request_progress.progress(context, current, WAITING, about=f"{about}{behind}: ")


def _reason(run: AnyRun) -> str | None:
    """Why a run cannot be evaluated whatever is stored of it, or is evaluated by its training."""
    if run.external:
        return "A script trains this run and keeps its networks: log its metrics there."
    if missing := registry.missing(run.config):
        return missing
    if run.status in ACTIVE and run.config.get("quality_every"):
        return "This run is evaluated while it trains."
    return None


def _absence(run: Run) -> str:
    """Why nothing of an ended run can be evaluated."""
    if IMPORTED in run.facts:
        return (
            "This run was imported and its checkpoints are on another machine: evaluate it there,"
            " or train a clone here."
        )
    if not run.epoch:
        return "No epoch of this run was finished, so there is nothing to evaluate."
    return (
        "No checkpoint of a finished epoch is stored, so this run cannot be evaluated: train a"
        " clone with quality_every."
    )
