"""An installation on SQLite or PostgreSQL, and a trainer that only reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from ganboard.db.models import Run, Search
from ganboard.db.runs import commands, queries
from ganboard.db.settings import Settings
from ganboard.gan import presets
from ganboard.worker.context import Context
from ganboard.worker.searches import definition, space
from ganboard.worker.searches.definition import Budget
from ganboard.worker.searches.objective import Objective
from tests.unit.db.conftest import engine as engine
from tests.unit.db.conftest import migrated_schema as migrated_schema
from tests.unit.db.conftest import url as url
from tests.unit.db.stored_runs import finish_epoch, quality, training

RATE = "g_learning_rate=1e-5..1e-2"


@pytest.fixture
def anywhere(engine: Engine, home: Path) -> Context:  # in this order: `home` clears the environment
    """Like `context`, on each kind of database."""
    return Context(Settings(), engine)


def start(
    context: Context,
    *axes: str,
    epochs: int = 3,
    objective: Objective = Objective("fid"),
    sampler: str = "random",
    pruner: str = "none",
    seed: int = 0,
    name: str = "",
    **budget: Any,
) -> Search:
    """A search with the preset `tiny`, of 4 runs unless `budget` says more."""
    plan = definition.plan(
        context,
        {**presets.values("tiny"), "epochs": epochs},
        space.axes(axes or (RATE,)),
        objective=objective,
        sampler=sampler,
        pruner=pruner,
        seed=seed,
        budget=Budget(**{"runs": 4, **budget}),
        preset="tiny",
        name=name,
    )
    return definition.start(context, plan)


StartSearch = Callable[..., Search]


@pytest.fixture
def begin(anywhere: Context) -> StartSearch:
    """`start` on each kind of database."""
    return partial(start, anywhere)


def fid(run: Run, epoch: int) -> float:
    """Of the stand-in trainer: best at a rate of 3e-4, better with each epoch."""
    off = math.log10(run.config["g_learning_rate"]) - math.log10(3e-4)
    return 10.0 * off * off + 20.0 / epoch


class Trainer:
    """Claims a run as a worker does, and reports epoch by epoch without training anything."""

    def __init__(self, engine: Engine, run_id: str, value: Callable[[Run, int], float] = fid):
        self._engine = engine
        run = queries.get_run(engine, run_id)
        assert run is not None
        self._run = run
        self._value = value
        self.planned = int(run.config["epochs"])
        self.own = training(engine, run_id)

    def epochs(self, first: int, last: int) -> bool:
        """Report these epochs; False once a stop was requested, which ends the run."""
        for epoch in range(first, last + 1):
            finish_epoch(self._engine, self.own, epoch)
            if epoch % self._run.config["quality_every"] == 0:
                reached = self._value(self._run, epoch)
                quality(self._engine, self.own, epoch, training_seconds=2.0 * epoch, fid=reached)
            if commands.renew(self._engine, **self.own):
                commands.finish(self._engine, **self.own, status="stopped")
                return False
        if last == self._run.config["epochs"]:
            commands.finish(self._engine, **self.own, status="finished")
        return True


def train(engine: Engine, run_id: str) -> None:
    """A whole run."""
    trainer = Trainer(engine, run_id)
    trainer.epochs(1, trainer.planned)
