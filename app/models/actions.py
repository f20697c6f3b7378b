"""What can be done with a version of a model: open its run, draw, download, alias, quantize,
delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from ganboard.app import auth, errors, navigation, request_progress
from ganboard.app.models.table import called
from ganboard.db import requests, versions
from ganboard.db.models import ModelVersion, Request, Run
from ganboard.db.runs import queries
from ganboard.gan.config import has_latent_space
from ganboard.gan.settings import registry
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.registry import versions as models

TICK_SECONDS = 1.0
OUTCOME = "models_outcome"
WAITING = "Waiting for the analysis worker, which may be busy with another request."
VARIANTS = {"int8": "int8, a quarter of the bytes", "float16": "float16, half of the bytes"}


def bar(context: Context, version: ModelVersion, aliases: Sequence[str], *, of_run: bool) -> None:
    """The buttons of a version; those that cannot apply are off and say why. On the page of its run
    (`of_run`) the way leads to the page Models instead."""
    run = queries.get_run(context.engine, version.run_id)
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"actions_{version.id}"
    ):
        if of_run:
            if st.button("Details", icon=":material/deployed_code:", key=f"open_{version.id}"):
                navigation.open_model(version.id)
        elif st.button(
            "Run",
            icon=":material/show_chart:",
            key=f"run_{version.id}",
            disabled=run is None,
            help="Its run was deleted." if run is None else "Open the run that trained it.",
        ):
            navigation.open_run(version.run_id)
        if st.button(
            "Playground",
            icon=":material/palette:",
            key=f"draw_{version.id}",
            disabled=(obstacle := undrawable(context, version, run)) is not None,
            help=obstacle or "Generate new images with the checkpoint it was made of.",
        ):
            navigation.open_playground(version.run_id, version.step)
        st.link_button(
            "Download",
            f"/api/models/{version.id}.zip",
            icon=":material/download:",
            help="Weights, manifest, pictures, and a text on how to load them, as ZIP.",
        )
        with st.popover("Alias", icon=":material/label:", key=f"alias_menu_{version.id}"):
            _alias(context, version, aliases)
        with st.popover("Quantize", icon=":material/compress:", key=f"quantize_menu_{version.id}"):
            _quantize(context, version, run)
        with st.popover("Delete", icon=":material/delete:", key=f"delete_menu_{version.id}"):
            _delete(context, version, aliases)
    if version.parent_id is None:
        waits = _pending(newest_quantization(context, version))
        st.fragment(_progress, run_every=TICK_SECONDS if waits else None)(context, version, waits)


def report_outcome() -> None:
    """Say what the last action did; call it once, at the end of a page."""
    done, refused = st.session_state.pop(OUTCOME, ("", ""))
    if done:
        st.toast(done, icon=":material/check:")
    if refused:
        errors.report(refused)


def undrawable(context: Context, version: ModelVersion, run: Run | None) -> str | None:
    """Why the playground cannot draw with the checkpoint of a version; None if it can."""
    if run is None:
        return "Its run was deleted, with the checkpoint that the playground draws with."
    if missing := registry.missing(run.config):
        return missing
    if not has_latent_space(run.config):
        return "This model has no latent space to draw from."
    if all(one.step != version.step for one in queries.checkpoints(context.engine, run.id)):
        return f"The run no longer keeps the checkpoint of epoch {version.epoch}."
    return None


def newest_quantization(context: Context, version: ModelVersion) -> Request | None:
    """The newest request to quantize a version."""
    asked = requests.of_runs(context.engine, requests.QUANTIZATION, [version.run_id])
    return next((one for one in asked if one.options.get("version") == version.id), None)


def _alias(context: Context, version: ModelVersion, aliases: Sequence[str]) -> None:
    key = f"alias_{version.id}"
    st.text_input(
        "Alias",
        placeholder=aliases[0] if aliases else "production",
        max_chars=32,
        key=key,
        help="Moves it here from the version of this model that has it.",
    )
    st.button(
        "Set alias",
        key=f"set_{key}",
        on_click=lambda: _act(
            lambda: versions.alias(context.engine, version, st.session_state[key].strip()),
            f"{version.name}@{st.session_state[key].strip()} is now {called(version)}.",
        ),
        **auth.writer(f"`{version.name}@ALIAS` then means this version everywhere."),
    )


def _quantize(context: Context, version: ModelVersion, run: Run | None) -> None:
    reason = (
        f"This version is stored as {version.variant} already."
        if version.parent_id is not None
        else f"Its run was deleted: use `ganboard models quantize {called(version)}`."
        if run is None
        else None
    )
    if reason:
        st.caption(reason)
        return
    key = f"quantize_{version.id}"
    st.radio("Weights", list(VARIANTS), format_func=VARIANTS.__getitem__, key=f"{key}_to")
    st.number_input(
        "At most worse by (%)",
        0.0,
        value=models.LIMIT,
        step=1.0,
        key=f"{key}_limit",
        help="By the model's metric, for the same inputs; a worse version is not registered.",
    )
    st.button(
        "Quantize",
        key=key,
        type="primary",
        on_click=_ask_quantization,
        args=(context, version, key),
        **auth.writer("Registers the next version of this model; this one stays."),
    )


def _ask_quantization(context: Context, version: ModelVersion, key: str) -> None:
    to = st.session_state[f"{key}_to"]
    limit = float(st.session_state[f"{key}_limit"])
    asked = {"version": version.id, "to": to, "limit": limit}
    _act(
        lambda: requests.ask(context.engine, requests.QUANTIZATION, [version.run_id], asked),
        f"Requested {called(version)} as {to}.",
    )


def _delete(context: Context, version: ModelVersion, aliases: Sequence[str]) -> None:
    named = f" Its aliases go with it: {', '.join(aliases)}." if aliases else ""
    st.caption(f"Deletes the files of {called(version)} immediately; this cannot be undone.{named}")
    st.button(
        f"Delete {called(version)}",
        key=f"delete_{version.id}",
        type="primary",
        on_click=lambda: _act(
            lambda: models.remove(context, version), f"Deleted {called(version)}."
        ),
        **auth.writer("Other versions of this model stay, also those quantized from it."),
    )


def _act(action: Callable[[], object], done: str) -> None:
    """Act, and keep a message for `report_outcome`."""
    try:
        action()
    except CLEAR_ERRORS as error:
        st.session_state[OUTCOME] = ("", str(error))
    else:
        st.session_state[OUTCOME] = (done, "")


def _pending(found: Request | None) -> bool:
    return found is not None and found.answered_at is None


def _progress(context: Context, version: ModelVersion, waited: bool) -> None:
    with errors.sentences():
        found = newest_quantization(context, version)
        if _pending(found) != waited:
            st.rerun()
        if found is None:
            return
        if found.answered_at is None:
            about = f"{called(version)} as {found.options['to']}: "
            request_progress.progress(context, found, WAITING, about=about)
        elif found.error:
            errors.report(found.error, "warning")
