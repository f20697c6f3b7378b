"""A comparison of what a model makes with what is real by curves and correlations: what a model
declares of it, and what is kept with a run. Free of TensorFlow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

DIGITS = 5  # significant ones: what a screen shows

Numbers = Annotated[list[float | None], Field(max_length=200)]  # None: not finite
Matrix = Annotated[list[Numbers], Field(min_length=1, max_length=200)]


@dataclass(frozen=True)
class CurveSpec:
    """How a curve is drawn."""

    title: str
    x: str  #: what its axes show, with units
    y: str
    begins_late: bool = False  #: whether the abscissae begin long before there is anything


@dataclass(frozen=True)
class ValidationSpec:
    """What is compared: curves by name, and the observables of the correlation matrices."""

    curves: Mapping[str, CurveSpec]
    correlated: tuple[str, ...]


class Curve(BaseModel):
    """A curve of real and of generated examples over the same abscissa."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    x: Numbers
    real: Numbers
    generated: Numbers


class Validation(BaseModel):
    """The curves of a comparison by name, and the correlation matrices of real and of generated
    examples."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    events: Annotated[int, Field(ge=1, le=10_000_000)]  #: examples of either sample
    curves: Annotated[dict[str, Curve], Field(max_length=50)]
    real: Matrix
    generated: Matrix

    @model_validator(mode="after")
    def _square(self) -> Self:
        sizes = {len(self.real), *map(len, self.real), *map(len, self.generated)}
        if {len(self.generated)} != sizes:
            raise ValueError("the correlation matrices are not square and of one size")
        return self


def short(values: Iterable[float]) -> list[float | None]:
    """Values for a `Curve`: rounded to DIGITS, None where they are not finite."""
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values]
