"""What the database knows of a run, for `gan.diagnosis`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ganboard.db.curves import series, timeline
from ganboard.db.errors import NotAllowed
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import parse
from ganboard.gan.diagnosis.explain import Explanation, explain
from ganboard.gan.diagnosis.trace import Evaluations, Trace
from ganboard.gan.quality import declared
from ganboard.gan.settings import registry
from ganboard.gan.settings.features import recorded

if TYPE_CHECKING:
    import pandas as pd
    from sqlalchemy import Engine


def unexplained(run: Run) -> str | None:
    """Why nothing can be said about a run yet, or ever; None if something can."""
    if run.external:
        return "A script trains this run: what its metrics mean is not known here."
    if missing := registry.missing(run.config):
        return missing
    if not run.step or not run.steps_per_epoch:
        return "Nothing to explain yet: the run has not taken a step."
    return None


def explained(engine: Engine, run: Run) -> Explanation:
    """The findings of a run. Raises NotAllowed where `unexplained` says why there are none."""
    if why := unexplained(run):
        raise NotAllowed(why)
    return explain(_trace(engine, run))


def document(found: Explanation) -> dict[str, Any]:
    """An explanation as JSON has it; positions are epochs passed."""
    findings = [
        {
            "kind": one.kind,
            "title": one.title,
            "first": one.first,
            "last": one.last,
            "evidence": one.evidence,
            "advice": one.advice,
            "remedy": dict(one.remedy),
        }
        for one in found.findings
    ]
    return {"findings": findings, "checked": found.checked}


def _trace(engine: Engine, run: Run) -> Trace:
    assert run.steps_per_epoch, "the run has taken a step"
    config = parse(run.config)
    epochs = series.epochs_frame(engine, [run.id])
    measures = series.measures_frame(engine, [run.id]).drop(columns=["run_id", "epoch"])
    evaluated = series.quality_frame(engine, [run.id])
    events = series.events_frame(engine, run.id)
    warnings = events[events["level"] == "warning"]
    metric = declared.headline(config.model)
    shares = run.facts.get("class_shares") or [0.0]
    return Trace(
        config=config,
        steps_per_epoch=run.steps_per_epoch,
        epoch=_column(epochs, "epoch"),
        attempt=np.array([one.attempt for one in queries.epochs(engine, run.id)], dtype=np.float64),
        seconds=_column(epochs, "seconds"),
        compile_seconds=_column(epochs, "compile_seconds"),
        measures={str(name): _column(measures, str(name)) for name in measures},
        losses=timeline.all_losses(engine, run.id),
        evaluations=_evaluations(evaluated),
        headline=metric.name,
        label=metric.called(recorded(run.facts)),
        commonest=float(max(shares)),
        warnings=tuple(zip(warnings["epoch"], warnings["text"], strict=True)),
    )


def _evaluations(frame: pd.DataFrame) -> Evaluations:
    known = set(series.QUALITY_COLUMNS) | set(series.QUALITY_ENDS)
    return Evaluations(
        epoch=_column(frame, "epoch"),
        measures={str(name): _column(frame, str(name)) for name in frame if name not in known},
        largest_class=np.array(
            [max(shares, default=np.nan) for shares in frame["histogram"]], dtype=np.float64
        ),
    )


def _column(frame: pd.DataFrame, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values: np.ndarray[tuple[int], np.dtype[np.float64]] = frame[name].to_numpy(dtype=np.float64)
    return values
