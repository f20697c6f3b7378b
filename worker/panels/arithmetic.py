"""Expressions evaluated over arrays, in float64."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.worker.panels.expressions import Expression

Floats = npt.NDArray[np.float64]
BY_ZERO = "division by zero"
OF_LOG = "logarithm of a number that is not positive"
OF_ROOT = "root of a negative number"
TOO_LARGE = "no finite result"


@dataclass(frozen=True)
class Evaluated:
    """Values [n], NaN where there is none; `gaps` counts those that the expression made, by
    cause."""

    values: Floats
    gaps: dict[str, int]


def evaluate(expression: Expression, values: Mapping[str, Floats]) -> Evaluated:
    """The expression for each entry of `values`, [n] float64 by name; all of its names are there.

    What is not finite in `values` stays a gap and is not counted.
    """
    given = {name: np.asarray(values[name], dtype=np.float64) for name in expression.names}
    whole = np.logical_and.reduce([np.isfinite(array) for array in given.values()])
    evaluator = _Evaluator(given)
    with np.errstate(all="ignore"):
        found = evaluator.of(expression.tree)
    result = np.array(np.broadcast_to(found, whole.shape), dtype=np.float64)
    finite = np.isfinite(result)
    left = whole & ~finite
    gaps = {}
    for cause, places in evaluator.causes.items():
        own = left & places
        gaps[cause] = int(own.sum())
        left &= ~places
    gaps[TOO_LARGE] = int(left.sum())
    if not expression.simple:  # a metric alone shows its own values as they are
        result[~finite] = np.nan
    return Evaluated(result, {cause: count for cause, count in gaps.items() if count})


def smooth(values: Floats, weight: float) -> Floats:
    """As `db.curves.reduction.smooth`, which loads pandas."""
    from ganboard.db.curves import reduction

    return reduction.smooth(values, weight)


@dataclass
class _Evaluator:
    values: Mapping[str, Floats]
    causes: dict[str, Any] = field(default_factory=dict)  # where each cause made a gap

    def of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=float(number)):
                return np.float64(number)
            case ast.Name(id=name):
                return self.values[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.of(operand)
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(operator, self.of(left), self.of(right))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, [self.of(argument) for argument in arguments])
        raise AssertionError(node)  # the parser leaves nothing else

    def _binary(self, operator: ast.operator, left: Any, right: Any) -> Any:
        match operator:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                return left / self._without(right, right == 0, BY_ZERO)
            case _:
                base = self._without(left, (left == 0) & (right < 0), BY_ZERO)
                return np.power(base, right)

    def _call(self, name: str, given: list[Any]) -> Any:
        first = given[0]
        match name:
            case "log" | "log10":
                return getattr(np, name)(self._without(first, first <= 0, OF_LOG))
            case "sqrt":
                return np.sqrt(self._without(first, first < 0, OF_ROOT))
            case "exp" | "abs":
                return getattr(np, name)(first)
            case "min" | "max":
                return getattr(np, f"{name}imum").reduce(np.broadcast_arrays(*given))
            case "cummin":
                return np.fmin.accumulate(np.atleast_1d(first))
            case "cummax":
                return np.fmax.accumulate(np.atleast_1d(first))
        return smooth(np.atleast_1d(first), float(given[1]))

    def _without(self, values: Any, places: Any, cause: str) -> Any:
        """The values with NaN at these places."""
        if np.any(places):
            self.causes[cause] = self.causes.get(cause, False) | places
        return np.where(places, np.nan, values)
