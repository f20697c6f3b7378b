"""Which image grids runs have, and several of them at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine
from sqlmodel import col, select

from ganboard.db.engine import reading
from ganboard.db.models import Grid


@dataclass(frozen=True)
class StoredGrid:
    """A grid of generated images without its picture."""

    epoch: int
    attempt: int
    rows: int
    columns: int


def stored(engine: Engine, run_ids: Collection[str]) -> dict[str, list[StoredGrid]]:
    """The grids of generated images of each run, ascending by epoch; epoch 0 is before training."""
    found: dict[str, list[StoredGrid]] = {run_id: [] for run_id in run_ids}
    columns: list[Any] = [Grid.run_id, Grid.epoch, Grid.attempt, Grid.rows, Grid.columns]
    chosen = select(*columns).where(col(Grid.run_id).in_(run_ids), col(Grid.epoch) >= 0)
    with reading(engine) as session:
        for run_id, *own in session.execute(chosen.order_by(col(Grid.run_id), col(Grid.epoch))):
            found[run_id].append(StoredGrid(*own))
    return found


def of_epochs(engine: Engine, run_id: str, epochs: Collection[int]) -> dict[int, Grid]:
    """The grids of some epochs with their pictures, by epoch; those that exist."""
    query = select(Grid).where(Grid.run_id == run_id, col(Grid.epoch).in_(epochs))
    with reading(engine) as session:
        return {grid.epoch: grid for grid in session.exec(query)}
