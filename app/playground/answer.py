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
from ganboard.db import drawings
from ganboard.db.drawings import Asked
from ganboard.db.runs import queries
from ganboard.gan.generation.latent_requests import Wish
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.requests.notify import ask

POLL_SECONDS = 0.2
LONG_POLL_SECONDS = 2.0  # while nobody is there to draw
ENLARGED = 8  # pixels of the saved picture for one of the generator's
MEMORY = "playground"
PHASES = {
    "warming": "Warming up: the painter loads TensorFlow, which it does once",
    "restoring": "Loading the generator",
    "loading": "Loading the training images",
    "searching": "Comparing with the training images",
}
NO_PAINTER = (
    "No painter is alive, so nobody draws: `ganboard painter` starts one, and `ganboard up` has its"
    " own."
)


@dataclass(frozen=True)
class Request:
    """What is asked of which generator."""

    run_id: str
    step: int
    kind: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Remembered:
    """The request made last in one tab, and the answer before it, which stays on the screen until
    the new one is here."""

    request: Request
    drawing_id: str
    shown_id: str | None


def answer(
    context: Context,
    run_id: str,
    step: int,
    wish: Wish,
    *,
    file_name: str,
    show: Callable[[Asked], None],
) -> None:
    """Ask for `wish` unless that was the last request of its kind, and `show` the answer; the page
    never waits for it."""
    request = Request(run_id, step, wish.kind, wish.model_dump(exclude_none=True))
    remembered, asked = _asked(context, request)
    with st.container(horizontal=True, vertical_alignment="center"):
        _save(asked, file_name)
        if asked.drawing.error is not None:
            st.button(
                "Try again",
                icon=":material/refresh:",
                on_click=_forget,
                args=(wish.kind,),
                key=f"again_{wish.kind}",
            )
        elif asked.answered:
            _done(asked)
        else:
            alive = _painter_alive(context)
            st.fragment(_wait, run_every=POLL_SECONDS if alive else LONG_POLL_SECONDS)(
                remembered.drawing_id, alive
            )
    if asked.drawing.error is not None:
        errors.tell(asked.drawing.error)
        return
    before = (
        drawings.find(context.engine, remembered.shown_id)
        if remembered.shown_id and not asked.answered
        else asked
    )
    if before is not None and before.drawing.png is not None:
        show(before)


def _memory() -> dict[str, Remembered]:
    found: dict[str, Remembered] = st.session_state.setdefault(MEMORY, {})
    return found


def _forget(kind: str) -> None:
    _memory().pop(kind, None)


def _asked(context: Context, request: Request) -> tuple[Remembered, Asked]:
    """The request as it stands now; asked anew when it is another than last time, or was forgotten
    by the database meanwhile."""
    memory = _memory()
    last = memory.get(request.kind)
    if (
        last is not None
        and last.request == request
        and (asked := drawings.find(context.engine, last.drawing_id))
    ):
        if asked.answered:
            memory[request.kind] = Remembered(request, last.drawing_id, last.drawing_id)
        return last, asked
    instead_of = last.drawing_id if last else None
    drawing_id = ask(context, **vars(request), instead_of=instead_of)
    asked = drawings.find(context.engine, drawing_id)
    assert asked is not None, "it was stored a moment ago"
    shown = last.shown_id if last and last.request.run_id == request.run_id else None
    memory[request.kind] = Remembered(request, drawing_id, shown)
    return memory[request.kind], asked


def _painter_alive(context: Context) -> bool:
    return any(painter.alive for painter in queries.painters(context.engine))


def _wait(drawing_id: str, alive: bool) -> None:
    """What the request waits for, until it is answered or painters come or go; then the whole page
    anew."""
    with errors.sentences():
        context = navigation.context()
        asked = drawings.find(context.engine, drawing_id)
        if asked is None or asked.answered or _painter_alive(context) != alive:
            st.rerun()
        if not alive and asked.drawing.begun_at is None:
            st.markdown(f":orange[:material/warning:] {formatting.sentence(NO_PAINTER)}")
            return
        phase = (
            PHASES.get(asked.drawing.facts.get("phase", ""), "Drawing")
            if asked.drawing.begun_at
            else "Waiting for the painter"
        )
        st.markdown(f":material/hourglass_top: {phase} … {formatting.duration(asked.seconds)}")


def _done(asked: Asked) -> None:
    facts = asked.drawing.facts
    st.caption(
        f"{formatting.plural(facts['images'], 'image')} in {formatting.duration(facts['seconds'])},"
        f" answered after {formatting.duration(asked.seconds)}",
        help=(
            "First what the painter took for it, then the time from the request to the answer in"
            " the database."
        ),
    )


def _save(asked: Asked, file_name: str) -> None:
    png = asked.drawing.png
    st.download_button(
        "PNG",
        partial(_enlarged, png or b""),  # made when it is asked for
        f"{file_name}.png",
        "image/png",
        icon=":material/download:",
        on_click="ignore",
        disabled=png is None,
        key=f"save_{asked.drawing.kind}",
        help=f"The whole sheet, {ENLARGED} pixels for one",
    )


def _enlarged(png: bytes) -> bytes:
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        buffer = io.BytesIO()
        image.resize(
            (image.width * ENLARGED, image.height * ENLARGED), Image.Resampling.NEAREST
        ).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()
