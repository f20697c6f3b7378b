"""The networks of a run as files of other programs, on its tab Model: a form, progress, then the
files. The analysis worker writes them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ganboard.app import auth, errors, request_progress
from ganboard.db import requests
from ganboard.db.models import ENDED, Request, Run
from ganboard.db.runs import queries
from ganboard.db.runs.imports import IMPORTED
from ganboard.gan.generation.formats import KERAS, ONNX, SAVED_MODEL
from ganboard.gan.settings import registry
from ganboard.worker import formatting
from ganboard.worker.artifacts import network_files as stored
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.requests import network_files
from ganboard.worker.requests.network_files import KEPT, NetworkFile

TICK_SECONDS = 1.0
POLL_SECONDS = 4.0  # for checkpoints of a run that trains
REFUSED = "network_refused"
ASKED = "network_asked"
WAITING = "Waiting for the analysis worker, which may be busy with another request."
NETWORKS = {"generator": "Generator", "discriminator": "Discriminator"}
WEIGHTS = {"average": "Average (ema)", "training": "Training"}
FORMATS = {KERAS: ".keras", SAVED_MODEL: "SavedModel", ONNX: "ONNX"}
ABOUT = (
    "A network of one checkpoint in float32, for inference: Keras, TensorFlow or ONNX Runtime load"
    f" it without ganboard, as `ganboard networks` writes it. The newest {KEPT} files are kept as"
    " long as this run."
)


def show(context: Context, run: Run) -> None:
    """A form, progress or a message, and the files."""
    with errors.sentences():
        st.subheader("Networks for other programs", anchor=False)
        st.caption(formatting.sentence(ABOUT))
        every = POLL_SECONDS if run.status not in ENDED else None
        st.fragment(_form, run_every=every)(context, run)
        waits = bool(_waiting(_asked(context, run)))
        st.fragment(_answers, run_every=TICK_SECONDS if waits else None)(context, run, waits)


def refusal(run: Run, epochs: Sequence[int]) -> str | None:
    """Why no file can be written now; `epochs` are those of the stored checkpoints."""
    if missing := registry.missing(run.config):
        return missing
    if epochs:
        return None
    if IMPORTED in run.facts:
        return (
            "This run was imported and its checkpoints are on another machine: write its networks"
            " there, or train a clone here."
        )
    if run.status in ENDED:
        return "This run has no checkpoint to write. Train a clone."
    return (
        "This run has no checkpoint yet: one is saved every checkpoint_every epochs and at the end."
    )


def _form(context: Context, run: Run) -> None:
    with errors.sentences():
        if st.session_state.pop(ASKED, False):
            st.rerun()  # the answers are another fragment
        epochs = sorted({one.epoch for one in queries.checkpoints(context.engine, run.id)})
        if why := refusal(run, epochs):
            st.info(formatting.sentence(why), icon=":material/file_export:")
            return
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            network = st.segmented_control(
                "Network",
                list(NETWORKS),
                format_func=NETWORKS.__getitem__,
                default="generator",
                required=True,
                key="network_name",
            )
            st.selectbox(
                "Checkpoint",
                epochs[::-1],
                format_func=lambda epoch: f"Epoch {epoch}",
                key="network_epoch",
                width=160,
                filter_mode=None,
            )
            if run.config.get("ema") and network == "generator":
                st.segmented_control(
                    "Weights",
                    list(WEIGHTS),
                    format_func=WEIGHTS.__getitem__,
                    default="average",
                    required=True,
                    key="network_weights",
                    help="ganboard draws with the moving average of the trained weights.",
                )
            st.segmented_control(
                "Format",
                list(FORMATS),
                format_func=FORMATS.__getitem__,
                default=KERAS,
                required=True,
                key="network_format",
                help="A SavedModel is a folder, as ZIP. ONNX needs the packages of"
                " `ganboard[onnx]` on the machine of the inference worker.",
            )
            st.button(
                "Write the file",
                icon=":material/file_export:",
                key="network_ask",
                on_click=_ask,
                args=(context, run),
                **auth.writer("The file is offered below once it is written."),
            )


def _ask(context: Context, run: Run) -> None:
    chosen = st.session_state  # as it is at the click, not as it was drawn
    chosen[ASKED] = True
    network = chosen["network_name"]
    try:
        asked = NetworkFile(
            network=network,
            format=chosen["network_format"],
            epoch=int(chosen["network_epoch"]),
            weights=chosen.get("network_weights") if network == "generator" else None,
        )
        network_files.ask(context, run, asked)
    except CLEAR_ERRORS as error:
        st.session_state[REFUSED] = str(error)


def _asked(context: Context, run: Run) -> list[Request]:
    return requests.of_runs(context.engine, requests.NETWORK_FILE, [run.id])


def _waiting(found: Sequence[Request]) -> list[Request]:
    return [one for one in found if one.answered_at is None]


def _answers(context: Context, run: Run, waited: bool) -> None:
    with errors.sentences():
        found = _asked(context, run)
        waiting = _waiting(found)
        if bool(waiting) != waited:
            st.rerun()  # looking every second begins or ends
        if refused := st.session_state.pop(REFUSED, None):
            errors.report(refused)
        elif found and found[0].error:
            errors.report(found[0].error, "warning")
        for one in waiting[::-1]:
            _progress(context, run, one)
        for one in found:
            if "file" in one.facts:
                _file(context, run, one)


def _progress(context: Context, run: Run, waiting: Request) -> None:
    asked = waiting.options
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container():
            about = f"{NETWORKS[asked['network']]} as {FORMATS[asked['format']]}: "
            request_progress.progress(context, waiting, WAITING, about=about)
        _removal(context, run, waiting, "Cancel", ":material/close:")


def _file(context: Context, run: Run, answered: Request) -> None:
    facts = answered.facts
    with st.container(border=True):
        st.markdown(f"**{formatting.escape(facts['file'])}**, {formatting.size(facts['size'])}")
        st.caption(f"SHA-256 {facts['digest']}")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.link_button(
                "Download", f"/api/runs/{run.id}/networks/{answered.id}", icon=":material/download:"
            )
            with st.popover("How to load it", icon=":material/code:", key=f"usage_{answered.id}"):
                st.code(facts["usage"], language="python", wrap_lines=True)
                st.code(facts["about"], language=None, wrap_lines=True)
                st.caption(
                    "Pictures have values in [-1, 1], channels last; latents are drawn from a"
                    " standard normal distribution. Largest difference from ganboard's own outputs:"
                    f" {facts['difference']:.1e} of the largest."
                )
            _removal(context, run, answered, "Delete", ":material/delete:")


def _removal(context: Context, run: Run, request: Request, label: str, icon: str) -> None:
    st.button(
        label,
        icon=icon,
        key=f"{label.lower()}_{request.id}",
        on_click=_remove,
        args=(context, run, request),
        **auth.writer(),
    )


def _remove(context: Context, run: Run, request: Request) -> None:
    try:
        stored.remove(context, run.id, [request.id])
    except CLEAR_ERRORS as error:
        st.session_state[REFUSED] = str(error)
