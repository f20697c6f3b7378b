"""How an error reaches a person: a foreseen one as its sentence, any other as a plain apology; the
traceback goes to the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import streamlit as st
from sqlalchemy.exc import DBAPIError

from ganboard.db.errors import DbError
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS

STYLES: dict[str, tuple[str, str, Literal["red", "orange"]]] = {
    "error": ("Error", ":material/error:", "red"),
    "warning": ("Warning", ":material/warning:", "orange"),
}

RETRY_SECONDS = 3.0

logger = logging.getLogger(__name__)


@contextmanager
def sentences(*, retry: bool = False) -> Iterator[None]:
    """Show a foreseen error where it happened. Every page runs inside one; Streamlit hands the rest
    to `show` (app/web/server.py).

    With `retry` the whole page runs again every few seconds while it is the database that fails.
    """
    try:
        yield
    except (*CLEAR_ERRORS, DBAPIError) as error:
        if isinstance(error, DBAPIError):
            logger.warning("The database refused a statement", exc_info=error)
        show(error)
        if retry and isinstance(error, DBAPIError | DbError):
            st.fragment(_once_more, run_every=RETRY_SECONDS)(time.monotonic())


def _once_more(since: float) -> None:
    if time.monotonic() - since > RETRY_SECONDS / 2:  # not at once, with the page that just failed
        st.rerun()


def show(error: Exception) -> bool:
    """Show the error; True, so that Streamlit, which has logged it, does not show it as well."""
    if isinstance(error, DBAPIError):
        report(
            "The database is unavailable. Check that it is running and that its disk is not full."
            " This page retries automatically."
        )
    elif isinstance(error, CLEAR_ERRORS):
        report(str(error))
    else:
        report(
            "This page failed because of a bug in ganboard. See the log of the web server for"
            " details, and reload to try again."
        )
    return True


def report(message: str, level: Literal["error", "warning"] = "error") -> None:
    """A sentence in a box; backticks mark commands, all else is taken literally."""
    word, icon, colour = STYLES[level]
    with st.container(border=True, horizontal=True, vertical_alignment="top"):
        st.badge(word, icon=icon, color=colour, width="content")
        st.markdown(formatting.sentence(message))
