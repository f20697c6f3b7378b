"""Evaluated runs and the course of their best values, read once for all sessions until something
changes.

Do not modify the results: the caches do not copy them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.made import Made
from ganboard.app.runs import listing as app_listing
from ganboard.db.runs import listing, past_runs
from ganboard.worker import formatting
from ganboard.worker.comparison import choices, comparable
from ganboard.worker.comparison.comparable import Entry
from ganboard.worker.context import Context


@dataclass(frozen=True)
class Cost:
    """What a quality can be paid with."""

    label: str
    unit: str  # behind a number on hover
    meaning: str
    of_machine: bool  # whether it depends on the machine

    def words(self, cost: float) -> str:
        return formatting.duration(cost) if self.of_machine else f"{cost:,.0f} images"


TRAINING, IMAGES, SUBMISSION = "training_seconds", "images", "submitted_seconds"
COSTS = {
    TRAINING: Cost(
        "Training seconds",
        " s",
        "Training steps only, over all attempts: no start, compilation, evaluation or pauses.",
        True,
    ),
    IMAGES: Cost(
        "Images seen",
        " images",
        "Images of the training data, repetitions included: the same on every machine.",
        False,
    ),
    SUBMISSION: Cost(
        "Seconds from submission",
        " s",
        "Wall-clock time until the end of the evaluated epoch: waiting for a worker, start,"
        " compilation, earlier evaluations and pauses included.",
        True,
    ),
}


@dataclass(frozen=True)
class Evaluated:
    """Every evaluated run that is no fork, not archived, and whose settings can be read, newest
    first: by data set and what it was evaluated with, the largest groups first. And what was made
    of them."""

    engine: Engine
    groups: dict[str, dict[str, list[Entry]]]
    made: Made

    def varying(self, data: str, evaluation: str) -> list[str]:
        """The settings in which the runs of a group differ."""

        def build() -> list[str]:
            return choices.varying(comparable.configs(self.groups[data][evaluation]).values())

        return self.made.of(("varying", data, evaluation), build)

    def improvements(self, measure: str, *, lower: bool) -> pd.DataFrame:
        """As `db.runs.past_runs.improvements` has them."""

        def build() -> pd.DataFrame:
            return past_runs.improvements(self.engine, measure, lower=lower)

        return self.made.of(("improvements", measure, lower), build)


def read(context: Context) -> Evaluated:
    """Those of now. Read once for all that a script shows: of versions, one is kept."""
    engine = context.engine
    newest = (*listing.ended_version(engine), past_runs.evaluations_version(engine))
    return _evaluated(context, str(engine.url), newest)


@st.cache_resource(max_entries=1, show_spinner=False)
def _evaluated(_context: Context, database: str, version: tuple[Any, ...]) -> Evaluated:
    runs = app_listing.newest_first(app_listing.read(_context))
    data: dict[str, list[Entry]] = {}
    for entry in comparable.entries(_context.engine, runs):
        data.setdefault(entry.data, []).append(entry)
    largest = sorted(data.items(), key=lambda group: -len(group[1]))
    groups = {name: comparable.by_evaluation(own) for name, own in largest}
    return Evaluated(_context.engine, groups, Made())


def of_runs(found: pd.DataFrame, ids: Collection[str]) -> npt.NDArray[np.bool_]:
    """Which `improvements` [n] are of these runs. `isin` would copy all ids to Arrow, 4 MB of 9,000
    runs."""
    among = np.array([name in ids for name in found["run_id"].cat.categories], dtype=bool)
    return among[found["run_id"].cat.codes]


def points(
    found: pd.DataFrame,
    entries: Sequence[Entry],
    cost: str,
    names: dict[str, str],
    settings: dict[str, str],
    groups: dict[str, str],
) -> pd.DataFrame:
    """The `improvements` of these runs as `worker.figures.many.frontier.scatter` takes them;
    `names`, `settings` (both HTML) and `groups` are by run id."""
    runs = {entry.run.id: entry.run for entry in entries}
    own = found[of_runs(found, runs)].reset_index(drop=True)
    own["run_id"] = own["run_id"].cat.remove_unused_categories()
    ids, rows = list(own["run_id"].cat.categories), own["run_id"].cat.codes.to_numpy()

    def of_run(values: list[str | None]) -> pd.Series[Any]:
        """What each run has, on its rows: one object for all of them."""
        return pd.Series(np.array(values, dtype=object)[rows], dtype=object)

    # as numbers and objects: `astype` would copy all texts to Arrow, 12 MB
    lines = list(dict.fromkeys(settings.values()))
    numbers = {line: number for number, line in enumerate(lines)}
    codes = np.array([numbers[settings[name]] for name in ids], dtype=np.int32)[rows]
    if cost == IMAGES:
        batches = np.array([runs[name].config.get("batch_size", 0) for name in ids], dtype=float)
        spent = own["steps"].to_numpy(np.float64) * batches[rows]
    else:
        spent = own[cost].to_numpy(np.float64)
    return pd.DataFrame(
        {
            "run_id": own["run_id"],
            "epoch": own["epoch"],
            "x": np.where(spent > 0, spent, np.nan),
            "y": own["value"].astype(np.float64),
            "text": of_run([names[name] for name in ids]),
            "settings": pd.Categorical.from_codes(codes, pd.Index(lines, dtype=object)),
            "group": of_run([groups.get(name) for name in ids]),
            "grid": own["grid"].fillna(-1).astype(np.int32),
            "best": ~own["run_id"].duplicated(keep="last"),
        }
    )
