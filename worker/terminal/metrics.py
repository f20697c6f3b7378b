"""Stored metrics and expressions of them in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from sqlalchemy import Engine

from ganboard.db.curves import stored
from ganboard.db.curves.stored import AXES
from ganboard.db.models import Run
from ganboard.worker.formatting import clean, decimal, plural
from ganboard.worker.panels.expressions import quoted
from ganboard.worker.panels.metrics import CADENCES, meaning
from ganboard.worker.panels.points import Points, compute, listed
from ganboard.worker.terminal.console import make_console

ROWS = 20  # of a metric


def computed(engine: Engine, run_id: str, metrics: Sequence[str], over: str) -> dict[str, Points]:
    """The points of each expression. Raises BadPanel."""
    return {metric: compute(engine, run_id, metric, over) for metric in metrics}


def document(run: Run, over: str, found: Mapping[str, Points]) -> dict[str, Any]:
    """What `show --metric --json` prints; null where there is no finite value."""
    return {
        "id": run.id,
        "name": run.name,
        "over": over,
        "metrics": [
            {
                "metric": metric,
                "step": [
                    int(step) if step.is_integer() else step for step in points.steps.tolist()
                ],
                "x": listed(points.x),
                "y": listed(points.y),
                "notes": list(points.notes),
            }
            for metric, points in found.items()
        ],
    }


def print_metrics(run: Run, over: str, found: Mapping[str, Points]) -> None:
    """A table for each expression: at most ROWS rows, evenly chosen, below its extremes."""
    console = make_console()
    console.print(clean(f"Run {run.id}: {run.name}"))
    for metric, points in found.items():
        console.print()
        console.print(clean(f"{metric} over {over}: {_summary(points)}"))
        for note in points.notes:
            console.print(clean(note))
        kept = np.unique(np.linspace(0, len(points.y) - 1, ROWS).round().astype(int))
        if not len(points.y):
            continue
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for title in dict.fromkeys(("step", clean(over), clean(metric))):
            table.add_column(title, justify="right")
        for place in kept:
            cells = [f"{points.steps[place]:,.0f}", _cell(points.x[place]), _cell(points.y[place])]
            table.add_row(*cells[over == "step" :])
        console.print(table)
        if len(kept) < len(points.y):
            console.print(f"{len(kept)} of {plural(len(points.y), 'value')}; --json has all.")


def print_available(engine: Engine, run: Run) -> None:
    """The metrics that are stored of a run."""
    found = stored.available(engine, [run.id])
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("metric", "stored", "meaning"):
        table.add_column(title)
    for name in (*AXES, *found):
        cadence = found.get(name)
        often = CADENCES[cadence] if cadence else "always"
        table.add_row(clean(quoted(name)), often, clean(meaning(name, cadence)))
    make_console().print(table)


def available(engine: Engine, run: Run) -> dict[str, Any]:
    """What `show --metrics --json` prints."""
    found = stored.available(engine, [run.id])
    return {
        "id": run.id,
        "metrics": [
            {"metric": quoted(name), "stored": cadence, "meaning": meaning(name, cadence)}
            for name, cadence in found.items()
        ],
    }


def _summary(points: Points) -> str:
    finite = points.y[np.isfinite(points.y)]
    if not len(finite):
        return "no values yet."
    numbers = {"last": finite[-1], "smallest": finite.min(), "largest": finite.max()}
    said = ", ".join(f"{word} {decimal(float(number))}" for word, number in numbers.items())
    return f"{said}; {plural(len(points.y), 'value')}."


def _cell(value: Any) -> str:
    return str(value) if isinstance(value, np.datetime64) else f"{value:.6g}"
