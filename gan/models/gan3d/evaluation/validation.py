"""What a comparison of showers looks like, small enough to be kept with a run. Free of
TensorFlow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from ganboard.gan.models.gan3d.observables import CORRELATED, Floats

if TYPE_CHECKING:
    from ganboard.gan.models.gan3d.evaluation.comparison import Comparison

DIGITS = 5  # significant ones: what a screen shows
DRAWN = (
    "sampling_fraction",
    "shape.x",
    "shape.y",
    "shape.z",
    "spectrum",
    "sparsity",
    "peak.x",
    "peak.y",
    "peak.z",
)

Numbers = Annotated[list[float | None], Field(max_length=200)]  # None: not finite
Row = Annotated[list[float | None], Field(min_length=len(CORRELATED), max_length=len(CORRELATED))]
Matrix = Annotated[list[Row], Field(min_length=len(CORRELATED), max_length=len(CORRELATED))]


class Curve(BaseModel):
    """One observable of real and of generated showers over the same abscissa."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    x: Numbers
    real: Numbers
    generated: Numbers


class Validation(BaseModel):
    """The curves of a `Comparison` that are named in DRAWN, and both correlation matrices, rows and
    columns as CORRELATED."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    events: Annotated[int, Field(ge=1, le=10_000_000)]  # of either sample
    curves: Annotated[dict[str, Curve], Field(max_length=len(DRAWN))]
    real: Matrix
    generated: Matrix

    @classmethod
    def of(cls, found: Comparison, events: int) -> Validation:
        curves = {}
        for name in DRAWN:
            pair = found.curves[name]
            curves[name] = Curve(
                x=_short(pair.x), real=_short(pair.reference), generated=_short(pair.candidate)
            )
        real, generated = ([_short(row) for row in matrix] for matrix in found.correlation)
        return cls(events=events, curves=curves, real=real, generated=generated)


def _short(values: Floats) -> list[float | None]:
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values]
