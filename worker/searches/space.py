"""The settings that a search varies, each with a range or with choices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ganboard.gan.config import ConfigError, parse_value
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import about
from ganboard.worker.submission import sweep

LOG_RATIO = 10  # a range over more than this is searched on a logarithmic scale
DIGITS = 6  # significant, of the numbers tried
RANGE = ".."
SCALES = {"log": True, "linear": False}
# what they change makes results of different runs incomparable
FIXED_GROUPS = ("Data", "Quality")
FIXED = ("model", "start_from", "seed")


@dataclass(frozen=True)
class Axis:
    """A setting with the values that it may get: `choices`, or a range with both ends."""

    name: str
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False  # whether the range has whole numbers only

    def stored(self) -> dict[str, Any]:
        if self.choices:
            return {"choices": list(self.choices)}
        return {"low": self.low, "high": self.high, "log": self.log, "whole": self.whole}

    @property
    def count(self) -> float:
        """Number of values; infinite for a range of real numbers."""
        if self.choices:
            return len(self.choices)
        return self.high - self.low + 1 if self.whole else math.inf

    def values(self) -> list[Any]:
        """All values of an axis that has finitely many."""
        return list(self.choices) or list(range(int(self.low), int(self.high) + 1))

    def rounded(self, value: Any) -> Any:
        """A drawn value as it is tried: real numbers with few digits, within the range."""
        if self.choices or self.whole:
            return value
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)

    def text(self) -> str:
        """The values in words."""
        if self.choices:
            return ", ".join(map(_word, self.choices))
        scale = "log" if self.log else "linear"
        return f"{self.low:g} to {self.high:g} ({scale})"


Space = tuple[Axis, ...]


def of_stored(stored: Mapping[str, Mapping[str, Any]]) -> Space:
    """The axes of a stored search."""
    return tuple(
        Axis(name, tuple(values["choices"])) if "choices" in values else Axis(name, **values)
        for name, values in stored.items()
    )


def axis(name: str, text: str) -> Axis:
    """The axis of `1e-5..1e-3`, `0..0.9:linear` or `32, 64, 128`. Raises ConfigError."""
    _check_name(name)
    low, range_sign, rest = text.partition(RANGE)
    if not range_sign:
        return of_choices(name, sweep.values(name, text))
    high, colon, scale = rest.partition(":")
    if colon and scale.strip() not in SCALES:
        raise ConfigError(f"{name}: {scale.strip()[:20]!r} is no scale. Use log or linear.")
    return _of_range(name, low.strip(), high.strip(), SCALES.get(scale.strip()))


def of_choices(name: str, values: Sequence[Any]) -> Axis:
    """An axis with these values, each checked by itself. Raises ConfigError."""
    _check_name(name)
    choices = tuple(sweep.typed(name, values))
    if len(choices) < 2:
        raise ConfigError(
            f"{name} has one value only. Enter at least two, or a range such as 0.1{RANGE}0.9."
        )
    return Axis(name, choices)


def _of_range(name: str, low: str, high: str, log: bool | None) -> Axis:
    first, last = parse_value(name, low), parse_value(name, high)
    if isinstance(first, bool) or not isinstance(first, int | float) or last is None:
        raise ConfigError(f"{name} is no number and has no range. List its values with commas.")
    if not first < last:
        raise ConfigError(f"{name}: the range {low[:20]}{RANGE}{high[:20]} must ascend.")
    if log is None:
        log = first > 0 and last / first > LOG_RATIO
    if log and first <= 0:
        raise ConfigError(f"{name}: a logarithmic range must begin above 0, not at {first:g}.")
    whole = isinstance(first, int) and isinstance(last, int)
    return Axis(name, (), first, last, log, whole)


def axes(assignments: Sequence[str]) -> Space:
    """`["g_learning_rate=1e-5..1e-3", "batch_size=32,64"]` as axes. Raises ConfigError."""
    found: dict[str, Axis] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ConfigError(
                f"{assignment[:80]!r} is not of the form key=low..high or key=value,value, such as"
                " g_learning_rate=1e-5..1e-3."
            )
        if name in found:
            raise ConfigError(f"{name[:80]} is varied twice. Give it one range or list.")
        found[name] = axis(name, text)
    return tuple(found.values())


def _check_name(name: str) -> None:
    if not registry.declared(name):
        parse_value(name, "")  # says which there are
    if not searchable(name):
        raise ConfigError(
            f"{name} cannot be searched: results of runs that differ in it cannot be compared. Set"
            " it for all runs instead."
        )


def searchable(name: str) -> bool:
    """Whether results of runs that differ in this setting can be compared."""
    known = about(name)
    return known.affects == "weights" and known.group not in FIXED_GROUPS and name not in FIXED


def size(space: Space) -> float:
    """Number of combinations."""
    return math.prod(axis.count for axis in space)


def draw(space: Space, random: np.random.Generator) -> dict[str, Any]:
    """A combination at random, as the random sampler would; for estimates."""
    found: dict[str, Any] = {}
    for one in space:
        if one.choices:
            found[one.name] = one.choices[random.integers(len(one.choices))]
        elif one.log:
            drawn = math.exp(random.uniform(math.log(one.low), math.log(one.high)))
            found[one.name] = round(drawn) if one.whole else one.rounded(drawn)
        elif one.whole:
            found[one.name] = int(random.integers(int(one.low), int(one.high) + 1))
        else:
            found[one.name] = one.rounded(random.uniform(one.low, one.high))
    return found


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
