"""What the analysis worker (worker/requests/analysis.py) is doing about a request."""

from __future__ import annotations

import streamlit as st

from ganboard.db import heartbeats
from ganboard.db.models import Request
from ganboard.worker import formatting
from ganboard.worker.context import Context


def progress(context: Context, found: Request, waiting: str, *, about: str = "") -> None:
    """Phase, share and time left, after the words `about`; before it is claimed `waiting`, or that
    no inference worker is there to start the analysis."""
    if found.claimed_at is None or found.heartbeat_at is None:
        alive = any(worker.alive for worker in heartbeats.inference_workers(context.engine))
        text = (
            waiting
            if alive
            else "No inference worker is running: start one with `ganboard inference-worker` or"
            " `ganboard up`."
        )
    else:
        text = f"{about}{found.phase}" if about else found.phase.capitalize()
        text += " …"
        if found.progress > 0.05:
            spent = (found.heartbeat_at - found.claimed_at).total_seconds()
            left = spent * (1 - found.progress) / found.progress
            text += f" about {formatting.duration(left)} left"
    st.progress(found.progress, text=text)
