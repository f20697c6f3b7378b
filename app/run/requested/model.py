"""The tab Model of a run: register its generator as a version of a model, and what can be done with
its versions. The analysis worker registers them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from ganboard.app import auth, errors, navigation, request_progress
from ganboard.app.models import actions
from ganboard.app.models.table import called
from ganboard.db import requests, versions
from ganboard.db.models import ENDED, ModelVersion, Request, Run
from ganboard.db.runs import queries
from ganboard.db.runs.imports import IMPORTED
from ganboard.gan.settings import registry
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.registry import standing
from ganboard.worker.registry import versions as models

TICK_SECONDS = 1.0
SHOWN = 5  # versions of one run, the newest
REFUSED = "registration_refused"
ABOUT = (
    "A version of a model is the generator of one checkpoint under a name and a number. It is kept"
    " when its run is deleted, can be quantized and downloaded, and `ganboard serve` serves it."
)


def show(context: Context, run: Run) -> None:
    """A form, progress or a message, and the versions of this run."""
    with errors.sentences():
        _form(context, run)
        waits = _pending(_newest(context, run))
        st.fragment(_answer, run_every=TICK_SECONDS if waits else None)(context, run, waits)
        found = versions.listed(context.engine)
        own = [one for one in found if one.run_id == run.id]
        if own:
            _versions(context, found, sorted(own, key=lambda one: one.created_at, reverse=True))
        actions.report_outcome()


def refusal(run: Run, epochs: Sequence[int]) -> str | None:
    """Why no version can be registered now; `epochs` are those of the stored checkpoints."""
    if missing := registry.missing(run.config):
        return missing
    if run.status not in ENDED:
        return "Versions are registered from runs that have ended. Stop this run, or wait for it."
    if run.status == "failed":
        return "This run failed. Resume it, then register its generator."
    if IMPORTED in run.facts:
        return (
            "This run was imported and its checkpoints are on another machine: register a version"
            " there, or train a clone here."
        )
    return (
        None if epochs else "This run has no checkpoint. Train a clone to register its generator."
    )


def suggested_name(run: Run) -> str:
    """A name for what this run has learned: that of its data set."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", str(run.config.get("dataset", "")).lower())
    return plain.strip("-._")[:40] or "model"


def _form(context: Context, run: Run) -> None:
    stored = {one.epoch: one.step for one in queries.checkpoints(context.engine, run.id)}
    epochs = sorted(stored, reverse=True)
    st.caption(formatting.sentence(ABOUT))
    why = refusal(run, epochs)
    if why:
        st.info(formatting.sentence(why), icon=":material/deployed_code:")
        return
    names = list(dict.fromkeys(one.name for one in versions.listed(context.engine)))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Name of the model",
            suggested_name(run),
            max_chars=40,
            key="model_name",
            width=260,
            help=f"A known name gets its next version: {', '.join(names)}." if names else None,
        )
        st.selectbox(
            "Checkpoint",
            epochs,
            format_func=lambda epoch: f"Epoch {epoch}",
            key="model_epoch",
            width=160,
            filter_mode=None,
            help=f"Stored checkpoints: a run keeps its latest {run.config['keep_checkpoints']}"
            " (keep_checkpoints).",
        )
        st.button(
            "Register",
            type="primary",
            icon=":material/add:",
            key="model_register",
            on_click=_ask,
            args=(context, run),
            **auth.writer("Registers the generator of this checkpoint as the next version."),
        )


def _ask(context: Context, run: Run) -> None:
    try:
        name = versions.check_name(st.session_state["model_name"].strip())
        options = {"name": name, "epoch": int(st.session_state["model_epoch"])}
        requests.ask(context.engine, requests.REGISTRATION, [run.id], options)
    except CLEAR_ERRORS as error:
        st.session_state[REFUSED] = str(error)


def _newest(context: Context, run: Run) -> Request | None:
    return next(iter(requests.of_runs(context.engine, requests.REGISTRATION, [run.id])), None)


def _pending(found: Request | None) -> bool:
    return found is not None and found.answered_at is None


def _answer(context: Context, run: Run, waited: bool) -> None:
    with errors.sentences():
        found = _newest(context, run)
        if _pending(found) != waited:
            st.rerun()
        if refused := st.session_state.pop(REFUSED, None):
            errors.report(refused)
        elif found is None:
            return
        elif found.answered_at is None:
            about = f"Registering {found.options['name']}: "
            request_progress.progress(context, found, actions.WAITING, about=about)
        elif found.error:
            errors.report(found.error, "warning")


def _versions(context: Context, found: Sequence[ModelVersion], own: Sequence[ModelVersion]) -> None:
    standings = standing.standings(context, found)
    aliases = versions.aliases(context.engine)
    st.markdown(f"**{formatting.plural(len(own), 'version')} of this run**")
    for one in own[:SHOWN]:
        with st.container(border=True), errors.sentences():
            named = "".join(
                f" :blue-badge[{formatting.escape(a)}]" for a in aliases.get(one.id, [])
            )
            words, picture = st.columns([3, 2], vertical_alignment="center")
            with words:
                text = f"{called(one)} in {one.variant}"
                st.markdown(f"**{formatting.escape(text)}** &ensp;{named}")
                st.markdown(formatting.escape(standings[one.id].short))
                st.caption(formatting.escape(standings[one.id].sentences))
            with picture:
                if png := models.picture(context, one):
                    st.image(png, width="stretch", alt=f"What {called(one)} makes")
            actions.bar(context, one, aliases.get(one.id, []), of_run=True)
    if len(own) > SHOWN:
        st.page_link(
            navigation.MODELS_PAGE, label=f"All {len(own)} versions", icon=":material/list:"
        )
