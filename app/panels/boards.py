"""Which board a page shows: that of the URL, else the one that was shown last, else the one that
the person saved last."""

from __future__ import annotations

import streamlit as st
from sqlalchemy import Engine

from ganboard.app import auth, errors
from ganboard.db.models import SavedBoard
from ganboard.db.runs import boards
from ganboard.worker import formatting
from ganboard.worker.panels.board import Board, decode, encode
from ganboard.worker.panels.errors import BadPanel

PARAM = "panels"
LATEST = "board"  # of the session: what `encode` wrote


def current(engine: Engine) -> Board:
    """The board to be shown. Raises BadPanel where the URL has one that cannot be read."""
    asked = st.query_params.get(PARAM)
    if asked is not None:
        return decode(asked)
    if LATEST in st.session_state:
        return decode(st.session_state[LATEST])
    saved = boards.of_owner(engine, auth.email())
    return _board(saved[0]) if saved else Board()


def put(board: Board) -> None:
    """Show this board from now on, and have it in the URL. Raises BadPanel if that is too long."""
    text = encode(board)
    st.session_state[LATEST] = text
    if st.query_params.get(PARAM) != text:
        st.query_params[PARAM] = text


def _board(saved: SavedBoard) -> Board:
    """An unreadable one, which no version of ganboard wrote, is empty."""
    try:
        return Board.model_validate(saved.panels)
    except ValueError:
        return Board()


@st.dialog("Boards", icon=":material/dashboard:")
def manage(engine: Engine, board: Board) -> None:
    """The saved boards: open one, delete one, save the one that is shown."""
    owner = auth.email()
    saved = boards.of_owner(engine, owner)
    if not saved:
        st.caption("No saved boards yet.")
    for place, one in enumerate(saved):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            panels = formatting.plural(len(_board(one).root), "panel")
            common = " · everybody's" if owner and not one.owner else ""
            st.markdown(f"{formatting.escape(one.name)} :gray[{panels}{common}]", width="stretch")
            if st.button("Open", key=f"open_board_{place}", type="tertiary"):
                put(_board(one))
                st.rerun()
            if st.button(
                "Delete",
                icon=":material/delete:",
                type="tertiary",
                key=f"delete_board_{place}",
                **auth.writer("Delete this board"),
            ):
                with errors.sentences():
                    boards.forget(engine, owner=one.owner, name=one.name)
                    st.rerun()
    _save(engine, owner, board)


def _save(engine: Engine, owner: str, board: Board) -> None:
    with st.form("save_board", border=False):
        name = st.text_input(
            "Save the current board as",
            max_chars=boards.NAME_LENGTH,
            placeholder="For example: Balance",
            key="board_name",
        )
        replace = st.checkbox("Replace a board of this name")
        if st.form_submit_button("Save", icon=":material/bookmark_add:", **auth.writer()):
            with errors.sentences():
                panels = board.model_dump(mode="json", exclude_defaults=True)
                boards.save(engine, owner=owner, name=name, panels=panels, replace=replace)
                st.rerun()
    who = "you" if owner else "everybody, as nobody signs in here"
    st.caption(
        f"A saved board is listed for {who}. Without one in its address, a page shows the board"
        " that was saved last. The address of this page holds the whole board: copy it to share"
        " it with anybody who can open this dashboard."
    )


def report(mistake: BadPanel) -> None:
    """What is wrong with the board in the URL, and the way out."""
    errors.report(f"{mistake} No panel of this address is shown.")
    if st.button("Start with an empty board", icon=":material/restart_alt:", key="empty_board"):
        put(Board())
        st.rerun()
