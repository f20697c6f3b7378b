"""What is built anew only when something happened to the run: ticks of an idle run and of second
viewers cost next to nothing.

Do not modify what you get: all sessions share it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st
from sqlalchemy import Engine

from ganboard.db.models import Run
from ganboard.db.runs import queries

T = TypeVar("T")


def by_step(engine: Engine, run: Run, name: str, options: object, build: Callable[[], T]) -> T:
    """What `build` gives, kept under `name` and `options` until the run takes a step, reports a
    value, or anything else happens to it."""
    version = (run.step, run.reports, *queries.chart_version(engine, run.id))
    return newest(engine, run.id, name, options, version, build)


def by_epoch(engine: Engine, run: Run, name: str, options: object, build: Callable[[], T]) -> T:
    """The same for what new steps alone do not change: it is kept until an epoch ends, an
    evaluation is stored or an event is reported."""
    version = queries.chart_version(engine, run.id)
    return newest(engine, run.id, name, options, version, build)


def newest(
    engine: Engine, run_id: str, name: str, options: object, version: object, build: Callable[[], T]
) -> T:
    """What `build` gave for this `version`; only the newest one is kept."""
    place = _place(str(engine.url), run_id, name, repr(options))
    with place.lock:
        if place.version != version:
            place.value, place.version = build(), version
        return place.value  # type: ignore[no-any-return]


class _Place:
    """Of the versions of a live chart, one is in memory: each step makes another."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.version: object = None
        self.value: Any = None


@st.cache_resource(max_entries=400, show_spinner=False)
def _place(database: str, run_id: str, name: str, options: str) -> _Place:
    return _Place()
