"""The points of a panel: an expression over an axis, for one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine

from ganboard.db.curves import stored
from ganboard.db.curves.stored import AXES, TIME, Curve, Stored
from ganboard.worker.panels import arithmetic
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.expressions import Expression, parse, unknown

Floats = npt.NDArray[np.float64]
ENDS = "epoch_seconds"  # a metric of every epoch


@dataclass(frozen=True)
class Points:
    """Where a panel has a value, in the order of steps, and what to know about it in sentences."""

    steps: Floats  # [n]
    x: npt.NDArray[Any]  # [n] float64, or UTC times to the millisecond
    y: Floats  # [n] NaN: a gap
    smooth: Floats  # [n] the same without smoothing
    notes: tuple[str, ...]


def compute(
    engine: Engine,
    run_id: str,
    y: str,
    x: str = "step",
    *,
    smoothing: float = 0.0,
    points: int | None = None,
) -> Points:
    """The expression `y` over `x`, which is TIME or an expression, too: reduced to about `points`
    with the extremes kept, or all of them.

    Raises BadPanel with one sentence, also where a metric is not stored of the run.
    """
    over, along = parse(y), None if x == TIME else parse(x)
    used = [name for one in (over, along) if one for name in one.names]
    wanted = [name for name in dict.fromkeys(used) if name not in AXES]
    data = stored.read(engine, run_id, wanted or [ENDS])
    for name in wanted:
        if name not in data.curves:
            known = [*AXES, *stored.available(engine, [run_id])]
            raise BadPanel(unknown(name, known))
    steps, values, notes = _aligned(data)
    for name in {*used} & {*AXES}:
        axis = data.axis(name, steps)
        if axis is None:
            raise BadPanel(f"This run has no {name}: nothing says how its steps make {name}.")
        values[name] = axis
    result, said = _evaluated(over, values, len(steps))
    notes += said
    places: npt.NDArray[Any] | None
    if along is None:
        places = data.time(steps)
        if places is None:
            raise BadPanel("This run has no times yet. Choose another x axis.")
    else:
        places, said = _evaluated(along, values, len(steps))
        notes += [f"Of the x axis: {note}" for note in said]
    smooth = arithmetic.smooth(result, smoothing) if smoothing > 0 else result
    kept = _kept(result, places, points)
    return Points(steps[kept], places[kept], result[kept], smooth[kept], tuple(notes))


def listed(values: npt.NDArray[Any]) -> list[Any]:
    """Values as JSON has them: null where they are not finite, times in ISO 8601."""
    if np.issubdtype(values.dtype, np.datetime64):
        return [f"{one}Z" for one in np.datetime_as_string(values, unit="ms")]
    return [one if np.isfinite(one) else None for one in values.tolist()]


def _evaluated(
    expression: Expression, values: Mapping[str, Floats], count: int
) -> tuple[Floats, list[str]]:
    found = arithmetic.evaluate(expression, values)
    return found.values, [
        f"{gaps:,} of {count:,} values {'is a gap' if gaps == 1 else 'are gaps'}: {cause}."
        for cause, gaps in found.gaps.items()
    ]


def _kept(values: Floats, places: npt.NDArray[Any], points: int | None) -> npt.NDArray[Any]:
    if points is None or len(values) <= points:
        return np.arange(len(values))
    from ganboard.db.curves import reduction

    monotone = bool(np.all(places[1:] >= places[:-1]))
    curves = [values] if monotone else [values, places.astype(np.float64)]
    return reduction.extremes(curves, points)


def _aligned(data: Stored) -> tuple[Floats, dict[str, Floats], list[str]]:
    """Steps [n] and the values [n] of each curve there, and how they were brought together."""
    curves = dict(data.curves)
    if not curves:
        steps = data.clock[0] if data.clock else np.zeros(0)
        return steps, {}, []
    first = next(iter(curves.values()))
    if all(np.array_equal(first.steps, curve.steps) for curve in curves.values()):
        return first.steps, {name: curve.values for name, curve in curves.items()}, []
    kinds = {curve.cadence for curve in curves.values()}
    if data.per_epoch and len(kinds) > 1 and not kinds <= {"epoch", "evaluation"}:
        return _by_epoch(curves, data.per_epoch)
    steps = _common([curve.steps for curve in curves.values()])
    values = {name: _at(curve, steps) for name, curve in curves.items()}
    most = max(len(curve.steps) for curve in curves.values())
    names = _listed(list(curves))
    if not len(steps):
        return steps, values, [f"{names} have no step in common."]
    return steps, values, [f"Only where {names} all have a value: at {len(steps):,} of {most:,}."]


def _by_epoch(
    curves: Mapping[str, Curve], per_epoch: int
) -> tuple[Floats, dict[str, Floats], list[str]]:
    means = {name: _means(curve, per_epoch) for name, curve in curves.items()}
    steps = _common([curve.steps for curve in means.values()])
    averaged = [name for name, curve in curves.items() if len(curve.steps) > len(means[name].steps)]
    values = {name: _at(curve, steps) for name, curve in means.items()}
    names = _listed(list(curves))
    if not len(steps):
        return steps, values, [f"No epoch has values of {names} yet."]
    said = f"Aligned by epoch, as {names} have values at different steps"
    if averaged:
        verb = "is" if len(averaged) == 1 else "are"
        said += f"; {_listed(averaged)} {verb} averaged over each epoch"
    return steps, values, [f"{said}."]


def _means(curve: Curve, per_epoch: int) -> Curve:
    """The mean of each epoch, at its last step."""
    epochs = np.maximum(np.ceil(curve.steps / per_epoch), 1)
    found, starts = np.unique(epochs, return_index=True)
    counts = np.diff(np.append(starts, len(epochs)))
    return Curve("epoch", found * per_epoch, np.add.reduceat(curve.values, starts) / counts)


def _common(steps: Sequence[Floats]) -> Floats:
    common: Floats = reduce(np.intersect1d, steps)
    return common


def _at(curve: Curve, steps: Floats) -> Floats:
    return curve.values[np.searchsorted(curve.steps, steps)]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
