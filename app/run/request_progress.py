"""What a surveyor (worker/requests/analysis.py) is doing about a request."""

from __future__ import annotations

import streamlit as st

from ganboard.db.models import Surface
from ganboard.db.runs import queries
from ganboard.worker import formatting
from ganboard.worker.context import Context


def progress(context: Context, found: Surface, waiting: str) -> None:
    """Phase, share and time left; `waiting` is said while nobody has begun though a painter is
    alive."""
    if found.beat_at is None:
        alive = any(painter.alive for painter in queries.painters(context.engine))
        words = (
            waiting
            if alive
            else "No painter is alive: `ganboard up` and `ganboard painter` start one."
        )
    else:
        words = f"{found.phase.capitalize()} …"
        if found.begun_at is not None and found.done > 0.05:
            spent = (found.beat_at - found.begun_at).total_seconds()
            words += f" about {formatting.duration(spent * (1 - found.done) / found.done)} left"
    st.progress(found.done, text=words)
