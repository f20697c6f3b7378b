"""The frame behind the table of runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pandas as pd

from app import runs_table
from db.models import Run
from gan.config import RunConfig

MakeRun = Callable[..., Run]
START = datetime(2026, 1, 1, tzinfo=UTC)


def test_duration_ends_with_the_run_or_goes_on() -> None:
    config = RunConfig().model_dump()
    runs = [
        Run(name="ended", config=config, status="finished", started_at=START, ended_at=START + timedelta(seconds=90)),
        Run(name="runs", config=config, status="running", started_at=START),
        Run(name="stopped and resumed", config=config, status="queued", started_at=START, ended_at=None),
        Run(name="waits", config=config),
    ]
    table = runs_table.with_duration(runs_table.frame(runs), START + timedelta(minutes=5))
    assert [None if pd.isna(d) else d.total_seconds() for d in table["Duration"]] == [90, 300, 300, None]
    assert tuple(table.columns) == runs_table.COLUMNS


def test_an_empty_list_is_an_empty_table() -> None:
    assert runs_table.with_duration(runs_table.frame([]), START).empty


def test_progress_stays_within_bounds_and_not_finite_losses_stay() -> None:
    config = RunConfig(epochs=2).model_dump()
    runs = [Run(name="x", config=config, step=step, steps_per_epoch=10, g_loss=math.nan, d_loss=math.inf) for step in (0, 5, 20, 25)]
    frame = runs_table.frame(runs)
    assert frame["Progress"].tolist() == [0, 25, 100, 100]
    assert frame["G loss"].isna().all()
    assert (frame["D loss"] == math.inf).all()


def test_settings_of_another_version_do_not_break_a_row() -> None:
    frame = runs_table.frame([Run(name="old", config={"dataset": "digits"}), Run(name="older", config={})])
    assert frame["Epoch"].tolist() == ["0 / ?", "0 / ?"]


def test_strategy_says_what_auto_means() -> None:
    configs = [{}, {"replicas": 4, "batch_size": 64}, {"strategy": "mirrored"}, {"strategy": "default"}]
    frame = runs_table.frame([Run(name="x", config=RunConfig(**config).model_dump()) for config in configs])
    assert frame["Strategy"].tolist() == ["default", "mirrored × 4", "mirrored", "default"]


def test_another_order_is_another_widget() -> None:
    assert runs_table.key(["a", "b"]) == runs_table.key(["a", "b"])
    assert runs_table.key(["a", "b"]) != runs_table.key(["b", "a"])


def test_a_thousand_rows_are_quick() -> None:
    runs = [Run(name=f"{n}", config=RunConfig().model_dump(), status="finished", started_at=START, ended_at=START) for n in range(1000)]
    begin = time.perf_counter()
    runs_table.with_duration(runs_table.frame(runs), START)
    assert time.perf_counter() - begin < 0.5  # about 10 ms
