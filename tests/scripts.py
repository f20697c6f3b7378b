"""Runs of scripts, as the script's reports would have stored them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from ganboard.db.ids import new_id
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from ganboard.worker.external import recording
from ganboard.worker.external.collector import Collector, EpochEnd, Point
from ganboard.worker.external.images import sheet
from ganboard.worker.external.schema import Report, Start
from ganboard.worker.external.values import spread

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONFIG = {"batch_size": 16, "epochs": "many", "model": "mine", "lr": 0.1, "replicas": "two"}


def beginning(name: str = "mine", **changes: Any) -> dict[str, Any]:
    """What a script sends when it starts."""
    return {
        "format": 1,
        "id": new_id(),
        "name": name,
        "config": CONFIG,
        "at": NOON.isoformat(),
        "hardware": {"host": "box", "cpu": "C", "cores": 2},
        **changes,
    }


def script_run(
    context: Context,
    name: str = "mine",
    *,
    epochs: int = 3,
    losses: bool = True,
    ended: bool = True,
    histograms: bool = False,
) -> Run:
    """A run of a script with 10 steps in each epoch, g_loss and d_loss if `losses`, and psnr; if
    `histograms`, two of weights."""
    begun = beginning(name)
    recording.create_run(context, Start.model_validate(begun))
    collector = Collector(batch_size=16)
    for step in range(1, 10 * epochs + 1):
        at = NOON.timestamp() + step
        numbers = {"g_loss": 1 / step, "d_loss": 2 - 1 / step} if losses else {}
        collector.points.append(Point(step, at, {**numbers, "psnr": 20.0 + step}))
        collector.given += 1
        if step % 10 == 0:
            collector.epochs.append(EpochEnd(step // 10, at, step, {"val_psnr": float(step)}))
            collector.sheets.append((step // 10, at, sheet(np.zeros((5, 8, 8, 3), np.uint8))))
    if histograms:
        for step in (10, 20):
            values = np.random.default_rng(step).normal(size=500)
            edges, counts = spread(values)
            at = NOON.timestamp() + step
            histogram = {"name": "weights <b>", "step": step, "time": at}
            collector.add_histogram({**histogram, "edges": edges, "counts": counts})
    collector.events.append((NOON.timestamp() + 5, "warning", "a spike"))
    end = {"status": "finished", "at": NOON.isoformat()} if ended else None
    recording.record(context, begun["id"], Report.model_validate(collector.report(end)))
    run = queries.get_run(context.engine, begun["id"])
    assert run is not None
    return run
