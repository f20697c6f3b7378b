"""Results of runs to compare, and what is concluded from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from ganboard.db.models import Run
from ganboard.gan.presets import load
from ganboard.worker.comparison.conclusion import Conclusion, Result, conclude
from tests.factories import HARDWARE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STEADY = (12.4, 12.2, 12.3, 12.1, 12.2)  # spread between evaluations about 0.18
_places = iter(range(10_000))


def result(
    label: str = "a",
    *,
    rate: float = 1000.0,
    rates: Any = None,
    epochs: int = 5,
    planned: int | None = None,
    fids: Any = (),
    every: int = 1,
    status: str = "finished",
    hardware: dict[str, Any] | None = None,
    start: float | None = None,
    **settings: Any,
) -> Result:
    """A run with `epochs` finished epochs, evaluated after every `every` of them; it begins at
    second `start`, or after all others."""
    config = (
        load("tiny").model_dump(mode="json")
        | {"epochs": epochs if planned is None else planned}
        | settings
    )
    begun = NOW + timedelta(seconds=100.0 * next(_places) if start is None else start)
    run = Run(
        name=label, status=status, config=config, epoch=epochs,
        hardware=HARDWARE | (hardware or {}), started_at=begun,
        ended_at=None if status == "running" else begun + timedelta(seconds=50), g_loss=0.7,
        d_loss=1.3,
    )  # fmt: skip
    measured = np.full(epochs, rate) if rates is None else np.asarray(rates, dtype=np.float64)
    return Result(
        run,
        label,
        measured,
        every * np.arange(1, len(fids) + 1),
        np.asarray(fids, dtype=np.float64),
    )


def said(base: Result, *others: Result) -> Conclusion:
    return conclude(base, list(others), NOW + timedelta(days=30))
