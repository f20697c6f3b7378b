"""Flows continued by a pix2pix run: requested here, computed by the analysis worker, shown beside
the real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pandas as pd
import streamlit as st

from ganboard.app import auth, errors, request_progress
from ganboard.app.launch.typed import whole
from ganboard.app.run.status import tiles
from ganboard.app.widgets.live_plotly import Chart
from ganboard.db import requests
from ganboard.db.models import ENDED, Request, Run
from ganboard.db.runs import queries
from ganboard.db.runs.imports import IMPORTED
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.figures import flow as figures

TICK_SECONDS = 1.0
REFUSED = "prediction_refused"
FIELDS = {
    "steps": ("Steps", 1, 1000, 60, "Frames to predict, each from the previous one."),
    "halo": (
        "Halo",
        0,
        256,
        0,
        (
            "Pixels by which a tile overlaps its neighbours for context and blending; with 0 a"
            " compact network takes the whole frame. An invalid value is answered with the valid"
            " ones."
        ),
    ),
    "group": (
        "Group",
        0,
        65_536,
        0,
        "Tiles that the network processes together; 0 means all at once.",
    ),
}  # label, least, most, usual and meaning of what is asked
ABOUT = (
    "The network predicts one flow of each kind from its first frame, each frame being the next"
    " input, and is compared with the solver's frames: a training flow, one at a held-out Reynolds"
    " number and one past a held-out shape, where available."
)


def show(context: Context, run: Run, _options: None) -> None:
    """The tab Prediction: a form, then progress, a message, or the results."""
    if refusal := _refusal(context, run):
        st.info(formatting.sentence(refusal), icon=":material/water:")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, (label, low, high, usual, meaning) in FIELDS.items():
            about = f"{meaning} From {low:,} to {high:,}."
            st.text_input(label, str(usual), key=f"predict_{name}", width=140, help=about)
        writer = auth.writer(disabled=bool(refusal))
        st.button(
            "Predict",
            icon=":material/water:",
            key="predict_ask",
            on_click=_ask,
            args=(context, run),
            **writer,
        )
    waits = _pending(_asked(context, run))
    st.fragment(_answer, run_every=TICK_SECONDS if waits else None)(context, run, waits)


def _refusal(context: Context, run: Run) -> str | None:
    if IMPORTED in run.facts:
        return (
            "This run was imported and its checkpoints are on another machine: predict there, or"
            " train a clone here."
        )
    if not queries.checkpoints(context.engine, run.id):
        coming = (
            "one is saved every checkpoint_every epochs and at the end"
            if run.status not in ENDED
            else "resume or clone it"
        )
        return f"This run has no checkpoint to predict with: {coming}."
    return None


def _asked(context: Context, run: Run) -> list[Request]:
    return requests.of_runs(context.engine, requests.PREDICTION, [run.id])


def _pending(found: Sequence[Request]) -> bool:
    return bool(found) and found[0].answered_at is None


def _ask(context: Context, run: Run) -> None:
    try:
        asked = {  # as they are at the click, not as they were drawn
            name: whole(label, st.session_state[f"predict_{name}"], low, high)
            for name, (label, low, high, *_) in FIELDS.items()
        }
        requests.ask(context.engine, requests.PREDICTION, [run.id], asked)
    except CLEAR_ERRORS as error:
        st.session_state[REFUSED] = str(error)


def _answer(context: Context, run: Run, waited: bool) -> None:
    with errors.sentences():
        found = _asked(context, run)
        if _pending(found) != waited:
            st.rerun()  # looking every second begins or ends
        if refused := st.session_state.pop(REFUSED, None):
            errors.report(refused)
        if _pending(found):
            request_progress.progress(
                context,
                found[0],
                "Waiting for the analysis worker, which may be busy with another request.",
            )
        elif found and found[0].error:
            errors.report(found[0].error)
        answered = next((one for one in found if one.result is not None), None)
        if answered is None:
            st.caption(formatting.escape(ABOUT))
        else:
            _metrics(run, answered)


def _metrics(run: Run, answered: Request) -> None:
    facts = answered.facts
    png = answered.result or b""
    caption = (
        "Vorticity of the real flows (top) and the predicted ones (bottom), after training step"
        f" {facts['step']:,}"
    )
    st.image(png, output_format="PNG", caption=formatting.escape(caption), alt=caption)
    for flow in facts["flows"]:
        _flow(answered.id, flow, facts["steps"])
    left, right = st.columns(2)
    with left:
        st.markdown(
            "**L1 one step ahead**",
            help=(
                "Means over pairs of frames; the difference between held-out and training flows is"
                " the overfitting."
            ),
        )
        gap = facts["l1_one_step"]
        rows = [
            (kind[0].upper() + kind[1:], round(value, 5), round(value - gap["training"], 5))
            for kind, value in gap.items()
        ]
        frame = pd.DataFrame(rows, columns=["Flows", "L1", "Beyond training"])
        st.dataframe(frame, hide_index=True, height="content", key=f"gap-{answered.id}")
    with right:
        times = facts["times"]
        first, later = sum(times["first"].values()), sum(times["steady"].values())
        st.markdown(
            "**Time per frame**",
            help="Median over all frames except the first, which compiles the network.",
        )
        Chart.of(figures.parts(times), f"parts-{answered.id}").show()
        share = times["steady"]["execute"] / later
        st.caption(
            f"{share:.0%} of {later * 1e3:.1f} ms is the network's; the first frame took"
            f" {formatting.duration(first)}."
        )
    _files(run, answered, png)


def _flow(request: str, flow: Mapping[str, Any], steps: int) -> None:
    st.markdown(
        f"**{formatting.escape(flow['obstacle']).capitalize()} at Re {flow['reynolds']:g}:"
        f" {formatting.escape(flow['kind'])}**"
    )
    entries = (
        (
            "Strouhal number",
            formatting.decimal(flow["strouhal"], 3),
            "Of the predicted frames; – where too few periods are available.",
        ),
        (
            "Real, same frames",
            formatting.decimal(flow["real_strouhal"], 3),
            "Strouhal number of the real flow over the same steps.",
        ),
        (
            "Real, recorded",
            formatting.decimal(flow["recorded_strouhal"], 3),
            "Strouhal number of the whole recording.",
        ),
        (
            "Better than the mean flow",
            (
                "to the end"
                if flow["horizon"] == steps
                else formatting.plural(flow["horizon"], "step")
            ),
            ("Steps until the RMS error reaches that of the mean flow, which needs no network."),
        ),
        (
            "Amplitude, real",
            f"{flow['amplitude']:.3f}, {flow['real_amplitude']:.3f}",
            "Amplitude of the cross-stream velocity behind the obstacle, in U.",
        ),
    )
    tiles(entries)
    for column, name in zip(st.columns(2), figures.ERRORS, strict=True):
        with column:
            Chart.of(
                figures.errors(flow, name), f"errors-{name}-{flow['sequence']}-{request}"
            ).show()


def _files(run: Run, answered: Request, png: bytes) -> None:
    asked = answered.options
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, content, mime in (
            ("PNG", png, "image/png"),
            ("JSON", orjson.dumps(answered.facts), "application/json"),
        ):
            name = f"{run.id}-prediction.{label.lower()}"
            key = f"predict-{label}"
            st.download_button(
                label, content, name, mime, icon=":material/download:", on_click="ignore", key=key
            )
        group = formatting.plural(asked["group"], "tile")
        st.caption(
            f"{formatting.plural(asked['steps'], 'step')}, halo {asked['halo']},"
            f" {f'groups of {group}' if asked['group'] else 'all tiles at once'},"
            f" computed in {formatting.duration(answered.facts['seconds'])}. {ABOUT}"
        )
