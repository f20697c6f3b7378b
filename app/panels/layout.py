"""The board on a page: a bar, and its panels in rows. Buttons are drawn here, outside of what
updates; the charts go into the places that `controls` returns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st
from sqlalchemy import Engine
from streamlit.delta_generator import DeltaGenerator

from ganboard.app.panels import boards, dragging, editor
from ganboard.db.curves import stored
from ganboard.worker import formatting
from ganboard.worker.panels.board import Board, Panel
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.expressions import parse
from ganboard.worker.panels.metrics import examples, meaning

PARTS = {"third": 2, "half": 3, "full": 6}  # of a row
ROW = 6
EDIT, FULL, REMOVE = "Edit", "Full screen", "Remove"
PIN, UNPIN = "Pin", "Unpin"
UP, DOWN = "Move up", "Move down"
MENU = (EDIT, FULL, PIN, UNPIN, UP, DOWN, REMOVE)


@dataclass(frozen=True)
class Slot:
    """Where a panel is drawn."""

    panel: Panel
    key: str
    place: DeltaGenerator


def controls(engine: Engine, run_ids: Sequence[str], large: Callable[[Panel], None]) -> list[Slot]:
    """The bar and the frames of all panels of the board; `large` draws one at full screen."""
    try:
        board = boards.current(engine)
    except BadPanel as mistake:
        boards.report(mistake)
        return []
    if board.root:
        boards.put(board)  # so that the address can be shared
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if st.button("Add a panel", icon=":material/add_chart:", key="add_panel"):
            editor.edit(engine, run_ids, board, None)
        if st.button(
            "Boards",
            icon=":material/dashboard:",
            key="boards",
            help="Save this board under a name, or open a saved one",
        ):
            boards.manage(engine, board)
        moved = dragging.listen(len(board.root))
    if moved is not None:
        place, to = moved
        boards.put(board.moved(place, to - place))
        st.rerun()
    if not board.root:
        _nothing_yet(engine, run_ids)
        return []
    places = rows([panel.width for panel in board.panels])
    slots = []
    for place, (panel, column) in enumerate(zip(board.panels, places, strict=True)):
        with column, st.container(border=True, key=f"{dragging.FRAME}{place}"):
            _head(engine, run_ids, board, place, large)
            slots.append(Slot(panel, f"panel-{place}", st.container()))
    return slots


def rows(widths: Sequence[str]) -> list[DeltaGenerator]:
    """A column for each width, as many in a row as fit."""
    packed: list[list[int]] = []
    for width in widths:
        if not packed or sum(packed[-1]) + PARTS[width] > ROW:
            packed.append([])
        packed[-1].append(PARTS[width])
    columns = []
    for parts in packed:
        rest = ROW - sum(parts)
        columns += st.columns([*parts, *([rest] if rest else [])])[: len(parts)]
    return columns


def _head(
    engine: Engine, run_ids: Sequence[str], board: Board, place: int, large: Callable[[Panel], None]
) -> None:
    panel = board.panels[place]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if len(board.panels) > 1:
            dragging.grip(place)
        pin = ":material/push_pin: " if panel.pinned else ""
        st.markdown(f"{pin}**{formatting.escape(panel.called)}**", width="stretch")
        offered = [name for name in MENU if name != (PIN if panel.pinned else UNPIN)]
        chosen = st.menu_button(
            "Options", offered, type="tertiary", key=f"panel_options_{place}", width="content"
        )
    if chosen is None:
        return
    if chosen == EDIT:
        editor.edit(engine, run_ids, board, place)
    elif chosen == FULL:
        editor.full_screen(panel, lambda: large(panel))
    else:
        boards.put(_changed(board, place, chosen))
        st.rerun()


def _changed(board: Board, place: int, chosen: str) -> Board:
    if chosen == REMOVE:
        return board.without(place)
    if chosen in (UP, DOWN):
        return board.moved(place, -1 if chosen == UP else 1)
    panel = board.panels[place].model_copy(update={"pinned": chosen == PIN})
    return board.with_panel(panel, place)


def _nothing_yet(engine: Engine, run_ids: Sequence[str]) -> None:
    st.caption(
        "No panels yet. A panel is a chart of any stored metric, or of an expression such as"
        " `d_loss / g_loss`, over any axis or other metric."
    )
    offered = examples(stored.available(engine, run_ids))
    if offered and st.button("Add examples", icon=":material/auto_awesome:", key="add_examples"):
        boards.put(Board(tuple(offered)))
        st.rerun()


def said(panel: Panel) -> list[str]:
    """What its caption begins with: what is drawn where a title hides it, and how."""
    sentences = []
    if panel.title.strip():
        sentences.append(f"{', '.join(panel.curves)} over {panel.x}.")
    meanings = {}
    for y in panel.curves:
        own = parse(y)
        word = meaning(own.names[0], None) if own.simple else y
        meanings[y] = [f"{word}."] if word != y else []
    sentences += by_curve(meanings)
    if panel.smoothing:
        sentences.append(f"Smoothed with weight {panel.smoothing:g}.")
    return sentences


def by_curve(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """The notes on each expression of a panel: those on all of them once, the others with the
    expression."""
    own = list(notes.values())
    common = [note for note in own[0] if all(note in others for others in own)]
    single = [f"{y}: {note}" for y, found in notes.items() for note in found if note not in common]
    return [*common, *single]


def digest(panel: Panel) -> str:
    """Of what the axes show: another one is another chart, whose zoom is its own."""
    axes = "\n".join([*panel.curves, panel.x, f"{panel.log_x:d}{panel.log_y:d}"])
    return hashlib.sha256(axes.encode()).hexdigest()[:12]
