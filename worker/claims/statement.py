"""What a claim states: a sentence of a small grammar, and the range of each quantity in which it
holds."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ganboard.gan.config import ConfigError
from ganboard.gan.settings.metric import Metric
from ganboard.gan.settings.registry import models

SPEED, RATE, MEMORY, SECONDS_TO = "epoch_seconds", "images_per_second", "peak_memory", "seconds_to"
MEASURES = {SPEED: "Seconds per epoch", RATE: "Images per second", MEMORY: "Peak memory (bytes)"}
FACTORS = (0.01, 100.0)  # limits of a claimed factor
CONDITIONS = 4
EXAMPLE = "at least 1.3x as fast at equal fid (margin 0.5)"
GRAMMAR = (
    "at least|at most R x as fast [per epoch | per image | to METRIC T]",
    "at least|at most R x the memory",
    "at equal METRIC (margin M)",
    "METRIC no worse (margin M)",
    "METRIC at least D lower|higher",
)

_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_FACTOR = rf"at (least|most) {_NUMBER} ?(?:x|×|times)"
_MARGIN = rf"\(? ?margin {_NUMBER} ?\)?"
_FAST = re.compile(rf"{_FACTOR} as fast(?: (per epoch|per image|to (\w+) {_NUMBER}))?")
_MEMORY = re.compile(rf"{_FACTOR} the (?:peak )?memory")
_EQUAL = re.compile(rf"(?:(?:at|with) )?equal (\w+) {_MARGIN}")
_NO_WORSE = re.compile(rf"(?:with )?(\w+) no worse {_MARGIN}")
_BETTER = re.compile(rf"(\w+) at least {_NUMBER} (lower|higher)")
# "and", a comma, or nothing before "at equal fid"
_BETWEEN = re.compile(r"\s+and\s+|\s*,\s*(?:and\s+)?|\s+(?=(?:at|with)\s+equal\s)")


@dataclass(frozen=True)
class Condition:
    """One condition: the effect of the treatment on a quantity lies from `low` to `high`.

    The effect on times, rates and memory is a factor; that on a metric is the treatment's value
    minus the control's.
    """

    quantity: str  # SPEED, RATE, MEMORY, SECONDS_TO or the name of a metric
    text: str
    label: str  # of the effect, for axes and tables
    low: float
    high: float
    metric: str = ""  # of SECONDS_TO
    target: float = 0.0  # its value that is to be reached
    smaller_reached: bool = True  # whether it is reached by falling

    @property
    def is_factor(self) -> bool:
        return self.quantity in (SPEED, RATE, MEMORY, SECONDS_TO)

    @property
    def evaluated(self) -> str:
        """The metric that the runs must be evaluated for, empty if none."""
        return (
            self.metric if self.quantity == SECONDS_TO else "" if self.is_factor else self.quantity
        )

    @property
    def measure(self) -> str:
        """What is measured in each run, with its unit."""
        if self.quantity == SECONDS_TO:
            return f"Seconds to {self.metric} {self.target:g}"
        return MEASURES.get(self.quantity, self.quantity)

    @property
    def key(self) -> str:
        """Of its measured values: equal for conditions on the same quantity."""
        return f"{self.quantity} {self.metric} {self.target:g}" if self.metric else self.quantity


def parse(sentence: str, model: str) -> list[Condition]:
    """The conditions of a statement on runs of `model`. Raises ConfigError."""
    text = " ".join(sentence.lower().split()).rstrip(".")
    parts = [part for part in _BETWEEN.split(text) if part]
    if not parts:
        raise ConfigError(f"The claim is empty. State one, such as {EXAMPLE!r}.")
    if len(parts) > CONDITIONS:
        raise ConfigError(
            f"The claim has {len(parts)} conditions; the limit is {CONDITIONS}. Split it."
        )
    if model not in models():
        raise ConfigError(f"There is no model {model[:40]!r} here. Restore its file.")
    metrics = {metric.name: metric for metric in models()[model].spec.metrics}
    found = [_condition(part, metrics) for part in parts]
    keys = [one.key for one in found]
    if twice := next((one for one in found if keys.count(one.key) > 1), None):
        raise ConfigError(f"The claim has two conditions on {twice.label}. Remove one of them.")
    return found


def canonical(conditions: list[Condition]) -> str:
    """The statement as it is stored: `parse` gives the same conditions again."""
    return " and ".join(condition.text for condition in conditions)


def _condition(text: str, metrics: dict[str, Metric]) -> Condition:
    if match := _FAST.fullmatch(text):
        relation, factor, what, name, target = match.groups()
        low, high = _factors(relation, factor)
        start = f"at {relation} {float(factor):g}x as fast"
        if name:
            metric = _metric(name, metrics)
            label = f"Speed-up to {metric.label} {float(target):g}"
            text = f"{start} to {name} {float(target):g}"
            falls = metric.better == "lower"
            return Condition(SECONDS_TO, text, label, low, high, name, float(target), falls)
        if what == "per image":
            return Condition(RATE, f"{start} per image", "Speed-up per image", low, high)
        return Condition(SPEED, f"{start} per epoch", "Speed-up per epoch", low, high)
    if match := _MEMORY.fullmatch(text):
        relation, factor = match.groups()
        low, high = _factors(relation, factor)
        return Condition(
            MEMORY,
            f"at {relation} {float(factor):g}x the memory",
            "Ratio of peak memory",
            low,
            high,
        )
    if match := _EQUAL.fullmatch(text):
        name, margin = match[1], _positive("margin", match[2])
        label = f"Difference in {_metric(name, metrics).label}"
        return Condition(name, f"equal {name} (margin {margin:g})", label, -margin, margin)
    if match := _NO_WORSE.fullmatch(text):
        name, margin = match[1], _positive("margin", match[2])
        metric = _metric(name, metrics)
        low, high = (-math.inf, margin) if metric.better == "lower" else (-margin, math.inf)
        label = f"Difference in {metric.label}"
        return Condition(name, f"{name} no worse (margin {margin:g})", label, low, high)
    if match := _BETTER.fullmatch(text):
        name, least = match[1], _positive("difference", match[2])
        low, high = (-math.inf, -least) if match[3] == "lower" else (least, math.inf)
        label = f"Difference in {_metric(name, metrics).label}"
        return Condition(name, f"{name} at least {least:g} {match[3]}", label, low, high)
    raise ConfigError(_unclear(text))


def _unclear(text: str) -> str:
    if re.fullmatch(r"(?:(?:at|with) )?equal \w+|(?:with )?\w+ no worse", text):
        return (
            f"{text[:80]!r} needs a margin, since no two measurements are equal. Add one, such as"
            " (margin 0.5)."
        )
    return f"{text[:80]!r} is not understood. Use the form {EXAMPLE!r}; docs/claims.md has all."


def _factors(relation: str, text: str) -> tuple[float, float]:
    factor, (least, most) = float(text), FACTORS
    if not least <= factor <= most:
        raise ConfigError(f"The factor {text[:20]} is outside {least:g} to {most:g}.")
    return (factor, math.inf) if relation == "least" else (0.0, factor)


def _positive(what: str, text: str) -> float:
    value = float(text)
    if not 0 < value < 1e9:
        raise ConfigError(f"The {what} {text[:20]} must be greater than 0 and less than 1e9.")
    return value


def _metric(name: str, metrics: dict[str, Metric]) -> Metric:
    known = [metric.name for metric in metrics.values() if metric.better]
    if name not in known:
        raise ConfigError(
            f"{name[:40]!r} is no metric that the model can be claimed to reach. Choose from"
            f" {', '.join(known)}."
        )
    return metrics[name]
