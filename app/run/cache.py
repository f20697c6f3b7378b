"""Charts that are built anew only when something happened to the run: ticks of an idle run and of
second viewers cost next to nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st
from sqlalchemy import Engine

from ganboard.db.models import Run
from ganboard.db.runs import queries

T = TypeVar("T")


def by_step(engine: Engine, run: Run, name: str, options: object, build: Callable[[], T]) -> T:
    """What `build` gives, kept under `name` and `options` until the run takes a step or anything
    else happens to it."""
    return _kept(build, name, (run.step, *_version(engine, run, options)))


def by_epoch(engine: Engine, run: Run, name: str, options: object, build: Callable[[], T]) -> T:
    """The same for what new steps alone do not change: it is kept until an epoch ends, an
    evaluation is stored or an event is reported."""
    return _kept(build, name, _version(engine, run, options))


def _version(engine: Engine, run: Run, options: object) -> tuple[Any, ...]:
    return str(engine.url), run.id, repr(options), *map(str, queries.chart_version(engine, run.id))


@st.cache_data(max_entries=96, show_spinner=False)
def _kept(_build: Callable[[], T], name: str, version: tuple[Any, ...]) -> T:
    return _build()
