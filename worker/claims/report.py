"""A claim as one HTML file that needs nothing else, and as data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import plotly.graph_objects as go
from markupsafe import Markup

from ganboard.gan.config import diff
from ganboard.worker.claims import stating
from ganboard.worker.claims.verdict import Found, Result
from ganboard.worker.figures.many.claims import shrinking
from ganboard.worker.reports import page as reports

TEMPLATE = Path(__file__).with_name("claim.html")


def write(result: Result, path: Path) -> Path:
    """The page of `render` at `path`. Raises ReportFailed."""
    reports.write(path, render(result))
    return path


def render(result: Result) -> str:
    """HTML with charts and data; it refers to nothing outside of itself, and its policy forbids
    it to load anything."""
    claim = result.claim
    different = diff(claim.control, claim.treatment)
    table = result.table
    return reports.render(
        TEMPLATE,
        claim=claim,
        title=stating.title(claim),
        result=result,
        figures=[
            (found, reports.figure(figure(found, claim.pairs), str(place)))
            for place, found in enumerate(result.found)
        ],
        columns=list(table.columns),
        rows=[[reports.cell(value) for value in row] for row in table.itertuples(index=False)],
        different=different,
        common={
            name: value
            for name, value in sorted(claim.treatment.items())
            if name not in different and name != "seed"
        },
        machine=claim.machine or {},
        command=stating.command(claim),
        data=Markup(_embedded(document(result))),  # noqa: S704  # escaped there
    )


def figure(found: Found, planned: int) -> go.Figure:
    """The interval of a condition by number of pairs."""
    scaled = found.scaled
    return shrinking(
        label=found.condition.label,
        pairs=found.pairs,
        effects=np.array([scaled(value) for value in found.effects]),
        means=np.array([scaled(one.mean) for one in found.intervals]),
        lows=np.array([scaled(one.low) for one in found.intervals]),
        highs=np.array([scaled(one.high) for one in found.intervals]),
        holds=(found.condition.low, found.condition.high),
        planned=planned,
        unit="×" if found.condition.is_factor else "",
    )


def document(result: Result) -> dict[str, Any]:
    """Everything that is known of a claim, JSON-ready; what is infinite or unknown is null."""
    claim = result.claim
    return {
        "id": claim.id,
        "statement": claim.statement,
        "status": claim.status,
        "headline": result.headline,
        "command": stating.command(claim),
        "confidence": claim.confidence,
        "power": claim.power,
        "planned_pairs": claim.pairs,
        "hours": claim.hours,
        "created_at": claim.created_at,
        "ended_at": claim.ended_at,
        "treatment": claim.treatment,
        "control": claim.control,
        "machine": claim.machine,
        "pairs": claim.evidence,
        "conditions": [_condition(found) for found in result.found],
        "caveats": result.caveats,
    }


def _condition(found: Found) -> dict[str, Any]:
    return {
        "text": found.condition.text,
        "effect": found.condition.label,
        "holds": [_number(found.condition.low), _number(found.condition.high)],
        "status": found.status,
        "effects": [_number(found.scaled(float(value))) for value in found.effects],
        "intervals": [
            {
                "pairs": one.pairs,
                "mean": _number(found.scaled(one.mean)),
                "low": _number(found.scaled(one.low)),
                "high": _number(found.scaled(one.high)),
            }
            for one in found.intervals
        ],
        "needed_pairs": found.needed,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _embedded(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element which holds it."""
    return orjson.dumps(data).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028")
