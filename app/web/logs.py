"""Streamlit's and uvicorn's loggers have their own handlers: here they log through `worker.logs`
like everything else."""

from __future__ import annotations

import logging

from streamlit import logger as streamlit_logger

from ganboard.worker import logs


def configure() -> None:
    """To be called before the server is made. The form of text stays Streamlit's."""
    logs.configure(text="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    # parameters have the same meaning
    streamlit_logger.setup_formatter = _through_root  # type: ignore[assignment]
    for known in streamlit_logger._loggers.values():
        _through_root(known)


def _through_root(known: logging.Logger) -> None:
    """In the place of Streamlit's function that gives each of its loggers a handler."""
    known.handlers.clear()
    known.propagate = True
