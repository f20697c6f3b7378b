"""Runs as the pages have them, of which ten thousand must fit into memory."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from datetime import timedelta
from typing import Any

from ganboard.app.runs import listing
from ganboard.app.runs.columns import SETTINGS
from ganboard.db.models import WAITING
from ganboard.db.runs import commands
from ganboard.worker.context import Context
from tests.unit.db.stored_runs import submitted, training

COUNT = 300
EVERYTHING = listing.Choice("", (), listing.ACTIVE, ("Duration",), None)


def stored(context: Context) -> dict[str, dict[str, Any]]:
    """The settings of all runs as the pages have them, by name."""
    return {run.name: dict(run.config) for run in listing._listed(context, WAITING)}


def test_every_run_has_its_own_settings(context: Context) -> None:
    older = {name: value for name, value in SETTINGS.items() if name != "hosts"}
    configs = {
        "a": SETTINGS | {"seed": 1, "batch_size": 64},
        "b": SETTINGS | {"seed": 2, "batch_size": 128},
        "older": older | {"seed": 3},
        "a again": SETTINGS | {"seed": 1, "batch_size": 64},
    }
    for name, config in configs.items():
        submitted(context.engine, name, **config)
    submitted(context.engine, "damaged", **SETTINGS | {"batch_size": "many"})
    assert stored(context) == configs | {"damaged": {}}


def test_what_runs_have_in_common_is_kept_once(context: Context) -> None:
    for seed in range(COUNT):
        submitted(context.engine, f"run {seed}", **SETTINGS | {"seed": seed})
    listing._listed(context, WAITING)  # what is kept for the next time
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        runs = listing._listed(context, WAITING)
        kept = (tracemalloc.get_traced_memory()[0] - before) / COUNT
    finally:
        tracemalloc.stop()
    assert len(runs) == COUNT
    assert kept < 2_000  # bytes; with settings of its own each had 4,500


def test_runs_that_go_on_have_lasted_until_now(context: Context) -> None:
    training(context.engine)
    own = training(context.engine)
    commands.finish(context.engine, **own, status="stopped")
    submitted(context.engine)
    runs, table = listing.chosen(context, listing.read(context), EVERYTHING)
    lasted = dict(zip([run.status for run in runs], table["Duration"].to_pylist(), strict=True))
    assert lasted["queued"] is None
    assert lasted["running"] >= timedelta(0)
    assert lasted["stopped"] >= timedelta(0)
    assert [run.ended_at is None for run in runs if run.status == "running"] == [True]


def test_earlier_lists_are_forgotten_when_a_run_ends(context: Context) -> None:
    first, second = training(context.engine), training(context.engine)
    commands.finish(context.engine, **first, status="finished")

    def seen() -> weakref.ref[listing.Ended]:
        stored = listing.read(context)
        listing.chosen(context, stored, EVERYTHING)
        return weakref.ref(stored.ended)

    before = seen()
    assert seen() is before  # of an object there is one such reference
    commands.finish(context.engine, **second, status="finished")
    after = seen()
    gc.collect()
    assert before() is None
    assert after() is not None
