"""One request of the playground from the question to the picture: asks once, says what it waits
for, then shows the answer."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from PIL import Image

from ganboard.app import errors, navigation
from ganboard.db import heartbeats, requests
from ganboard.db.models import Request
from ganboard.db.runs import queries
from ganboard.gan.generation.latent_requests import LatentRequest
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.requests.notify import ask

POLL_SECONDS = 0.2
LONG_POLL_SECONDS = 2.0  # while no inference worker is running
ENLARGED = 8  # pixels of the saved picture for one of the generator's
MEMORY = "playground"
PHASES = {
    "warming": "Warming up: the inference worker is loading TensorFlow (once)",
    "restoring": "Loading the generator",
    "loading": "Loading the training images",
    "searching": "Comparing with the training images",
}
NO_WORKER = (
    "No inference worker is running. Start one with `ganboard inference-worker` or `ganboard up`."
)


@dataclass(frozen=True)
class Question:
    """What is asked of which generator."""

    run_id: str
    step: int
    kind: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Remembered:
    """The request made last in one tab, and the answer before it, which stays on the screen until
    the new one is here."""

    question: Question
    request_id: str
    shown_id: str | None


def show_answer(
    context: Context,
    run_id: str,
    step: int,
    request: LatentRequest,
    *,
    file_name: str,
    show: Callable[[Request], None],
) -> None:
    """Ask for `request` unless that was the last one of its kind, and `show` the answer; the page
    never waits for it."""
    question = Question(run_id, step, request.kind, request.model_dump(exclude_none=True))
    remembered, asked = _asked(context, question)
    with st.container(horizontal=True, vertical_alignment="center"):
        _save(asked, file_name)
        if asked.error is not None:
            st.button(
                "Try again",
                icon=":material/refresh:",
                on_click=_forget,
                args=(request.kind,),
                key=f"again_{request.kind}",
            )
        elif asked.answered_at is not None:
            _done(asked)
        else:
            alive = _worker_alive(context)
            st.fragment(_wait, run_every=POLL_SECONDS if alive else LONG_POLL_SECONDS)(
                asked.id, alive
            )
    if asked.error is not None:
        errors.report(asked.error)
        return
    shown: Request | None = asked
    if remembered.shown_id and asked.answered_at is None:
        shown = requests.find(context.engine, remembered.shown_id)
    if shown is not None and shown.result is not None:
        show(shown)


def _memory() -> dict[str, Remembered]:
    found: dict[str, Remembered] = st.session_state.setdefault(MEMORY, {})
    return found


def _forget(kind: str) -> None:
    _memory().pop(kind, None)


def _asked(context: Context, question: Question) -> tuple[Remembered, Request]:
    """The current request; stored again if it has changed, or was deleted from the database."""
    memory = _memory()
    last = memory.get(question.kind)
    if (
        last is not None
        and last.question == question
        and (asked := requests.find(context.engine, last.request_id))
    ):
        if asked.answered_at is not None:
            memory[question.kind] = Remembered(question, asked.id, asked.id)
        return last, asked
    request_id = ask(context, **vars(question), instead_of=last.request_id if last else None)
    stored = requests.find(context.engine, request_id)
    assert stored is not None, "it was stored a moment ago"
    shown = last.shown_id if last and last.question.run_id == question.run_id else None
    memory[question.kind] = Remembered(question, request_id, shown)
    return memory[question.kind], stored


def _worker_alive(context: Context) -> bool:
    return any(worker.alive for worker in heartbeats.inference_workers(context.engine))


def _wait(request_id: str, alive: bool) -> None:
    """What the request waits for, until it is answered or inference workers come or go; then the
    whole page anew."""
    with errors.sentences():
        context = navigation.context()
        asked = requests.find(context.engine, request_id)
        if asked is None or asked.answered_at or _worker_alive(context) != alive:
            st.rerun()
        if not alive and asked.claimed_at is None:
            st.markdown(f":orange[:material/warning:] {formatting.sentence(NO_WORKER)}")
            return
        phase = "Waiting for the inference worker"
        if asked.claimed_at:
            phase = PHASES.get(asked.phase, "Drawing")
        waited = queries.database_time(context.engine) - asked.asked_at
        st.markdown(
            f":material/hourglass_top: {phase} … {formatting.duration(waited.total_seconds())}"
        )


def _done(asked: Request) -> None:
    assert asked.answered_at is not None
    waited = (asked.answered_at - asked.asked_at).total_seconds()
    st.caption(
        f"{formatting.plural(asked.facts['images'], 'image')} in"
        f" {formatting.duration(asked.facts['seconds'])}, answered after"
        f" {formatting.duration(waited)}",
        help=(
            "Compute time of the inference worker, then the time from the request to the stored"
            " answer."
        ),
    )


def _save(asked: Request, file_name: str) -> None:
    png = asked.result
    st.download_button(
        "PNG",
        partial(_enlarged, png or b""),  # created on demand
        f"{file_name}.png",
        "image/png",
        icon=":material/download:",
        on_click="ignore",
        disabled=png is None,
        key=f"save_{asked.kind}",
        help=f"The whole sheet, magnified {ENLARGED} times",
    )


def _enlarged(png: bytes) -> bytes:
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        buffer = io.BytesIO()
        image.resize(
            (image.width * ENLARGED, image.height * ENLARGED), Image.Resampling.NEAREST
        ).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()
