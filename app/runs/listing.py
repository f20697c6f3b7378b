"""The runs as lists show them now, read as little as possible: those that have ended from a cache
that all sessions share, the rest anew.

Do not modify the results: the cache does not copy them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import streamlit as st

from ganboard.app.made import Made
from ganboard.app.runs import table as runs_table
from ganboard.app.runs.columns import OF_TRASH, SETTINGS
from ganboard.db import models
from ganboard.db.runs import listing, queries, search
from ganboard.db.runs.listing import Listed
from ganboard.gan.config import ConfigError, invalid_reason, parse_value
from ganboard.gan.settings.features import CLASSIFIER
from ganboard.worker.context import Context
from ganboard.worker.panels import columns
from ganboard.worker.studies.shared_settings import SharedSettings

ACTIVE, TRASH = "active", "trash"
# the lists of runs, by their names in addresses: each run is in one of them
PLACES = {ACTIVE: "Active", "archived": "Archived", TRASH: "Trash"}


@dataclass(frozen=True)
class Choice:
    """What a person asked to see; `search` is one that can be understood."""

    search: str
    statuses: tuple[str, ...]
    place: str  # of PLACES
    columns: tuple[str, ...]
    fid: float | None  # to be reached
    expressions: tuple[str, ...] = ()  # those of the columns that a person defined
    features: str = CLASSIFIER  # by which it is to be reached

    def of(self, runs: list[Listed]) -> list[Listed]:
        usual = [
            run
            for run in runs
            if self.place == place_of(run)
            and (not self.statuses or run.shown_status in self.statuses)
        ]
        return search.matching(usual, search.parse(self.search, SETTINGS))


def place_of(run: Listed) -> str:
    """The list that a run is in."""
    if run.deleted_at is not None:
        return TRASH
    return "archived" if run.archived_at is not None else ACTIVE


class Ended:
    """Runs that have ended, what every tick asks of them, and their tables."""

    def __init__(self, runs: list[Listed]) -> None:
        self.runs, self.made = runs, Made()
        self.ids = {run.id for run in runs}
        self.places = Counter(map(place_of, runs))


@dataclass(frozen=True)
class Stored:
    """The runs outside the trash at one moment, archived ones included."""

    going: list[Listed]  # that have not ended
    ended: Ended

    def __bool__(self) -> bool:
        return bool(self.going or self.ended.runs)

    @property
    def training(self) -> bool:
        """Whether any of them trains."""
        return any(run.status in models.ACTIVE for run in self.going)

    def count(self, place: str) -> int:
        """How many of them are in this list."""
        return self.ended.places[place] + sum(place_of(run) == place for run in self.going)


def read(context: Context) -> Stored:
    # first: a run that ends meanwhile is in both, not in neither
    going = _listed(context, models.WAITING + models.ACTIVE)
    version = listing.ended_version(context.engine)
    ended = _ended(context, str(context.engine.url), version)
    return Stored([run for run in going if run.id not in ended.ids], ended)


def newest_first(stored: Stored) -> list[Listed]:
    """All of them."""
    return sorted(stored.going + stored.ended.runs, key=lambda run: run.created_at, reverse=True)


def chosen(context: Context, stored: Stored, choice: Choice) -> tuple[list[Listed], pa.Table]:
    """The runs that a person asked to see, newest first, and their table; of the trash the last
    deleted first."""
    if choice.place == TRASH:
        trashed = choice.of(_listed(context, models.STATUSES, trash=True))
        # no thumbnails: the API has nothing of what is in the trash
        return trashed, runs_table.frame(trashed, tuple(OF_TRASH)).drop_columns("Image")
    ended = stored.ended
    found, table = ended.made.of(choice, lambda: _table(context, choice.of(ended.runs), choice))
    news = choice.of(stored.going)
    if not news:
        return found, table
    reached = (
        None
        if choice.fid is None
        else listing.seconds_to_fid(
            context.engine, choice.fid, [run.id for run in news], choice.features
        )
    )
    own = [run.id for run in news]
    numbers = columns.evaluate(context.engine, choice.expressions, news, own)
    everything = news + found
    present = queries.database_time(context.engine)
    # so far: how long each has lasted
    so_far = [replace(run, ended_at=present) for run in news]
    newest = runs_table.frame(so_far, choice.columns, reached, numbers)
    whole = pa.concat_tables([newest, table])
    if not found or news[-1].created_at >= found[0].created_at:  # as nearly always
        return everything, whole
    order = sorted(
        range(len(everything)), key=lambda place: everything[place].created_at, reverse=True
    )
    return [everything[place] for place in order], whole.take(order)


@st.cache_data(max_entries=2, ttl=30, show_spinner=False)
def names(_context: Context, database: str) -> list[str]:
    """The metrics that columns can be of, at most half a minute old."""
    return columns.known(_context.engine)


@st.cache_resource(max_entries=1, show_spinner=False)
def _ended(_context: Context, database: str, version: tuple[Any, ...]) -> Ended:
    return Ended(_listed(_context, models.ENDED))


def _listed(context: Context, statuses: tuple[str, ...], *, trash: bool = False) -> list[Listed]:
    """Settings that cannot be read are left out: one damaged run must not take the table from all
    others."""
    first: dict[tuple[str, ...], Mapping[str, Any]] = {}

    def kept(config: dict[str, Any], external: bool) -> Mapping[str, Any]:
        """As differences from the first one with the same settings."""
        if external:
            config = _known(config)
        elif invalid_reason(config):
            return {}
        return SharedSettings(first.setdefault(tuple(config), config), config)

    return listing.list_all(context.engine, statuses=statuses, trash=trash, kept=kept)


def _known(config: dict[str, Any]) -> dict[str, Any]:
    """What a script gave under the names of our settings, as far as it could be one of them."""
    found = {}
    for name in config.keys() & SETTINGS.keys():
        with suppress(ConfigError):
            found[name] = parse_value(name, config[name])
    return found


def _table(context: Context, runs: list[Listed], choice: Choice) -> tuple[list[Listed], pa.Table]:
    reached = (
        None
        if choice.fid is None
        else listing.seconds_to_fid(context.engine, choice.fid, features=choice.features)
    )
    numbers = columns.evaluate(context.engine, choice.expressions, runs)
    return runs, runs_table.frame(runs, choice.columns, reached, numbers)
