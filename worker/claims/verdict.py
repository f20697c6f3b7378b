"""What the pairs of a claim say about it so far, in numbers and in words. Reads the claim alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ganboard.db.claims.records import OPEN
from ganboard.db.models import StatedClaim
from ganboard.gan.settings.features import FACT, recorded
from ganboard.worker.claims import sequential, statement
from ganboard.worker.claims.limits import FIRST_LOOK, MAX_PAIRS
from ganboard.worker.claims.sequential import Interval
from ganboard.worker.claims.statement import MEMORY, RATE, Condition
from ganboard.worker.formatting import plural

SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "undecided"
INVALID, STOPPED = "invalid", "stopped"


@dataclass(frozen=True)
class Found:
    """A condition with the effect of each counted pair, and its interval after each of them; on the
    scale of the condition: factors, or differences."""

    condition: Condition
    effects: npt.NDArray[np.float64]
    intervals: list[Interval]  # of logarithms where the effect is a factor
    pairs: list[int]  # the numbers of the counted pairs
    error: float  # of the intervals, two-sided
    power: float  # for which pairs are planned

    @cached_property
    def needed(self) -> int | None:
        """About how many pairs a verdict needs if effect and spread are as measured; None: more
        than MAX_PAIRS, or not known yet."""
        if not self.intervals:
            return None
        low, high = _range(self.condition)
        last = self.intervals[-1]
        return sequential.needed(
            mean=last.mean,
            deviation=last.deviation,
            low=low,
            high=high,
            alpha=self.error,
            wanted=self.power,
        )

    @property
    def status(self) -> str:
        """Of this condition, by the latest interval."""
        if not self.intervals:
            return UNDECIDED
        last, (low, high) = self.intervals[-1], _range(self.condition)
        if low <= last.low and last.high <= high:
            return SUPPORTED
        return REFUTED if last.high < low or last.low > high else UNDECIDED

    def scaled(self, value: float) -> float:
        """A mean or limit of an interval on the scale of the condition."""
        if not self.condition.is_factor:
            return value
        return math.exp(value) if value < 700 else math.inf

    @property
    def sentence(self) -> str:
        """The latest estimate and its interval in words."""
        name = self.condition.label
        if not self.intervals:
            return f"{name}: no interval before {FIRST_LOOK} pairs."
        last = self.intervals[-1]
        mean = self.words(self.scaled(last.mean))
        if math.isinf(last.high):
            return f"{name}: {mean} so far, without limits yet."
        low, high = (self.words(self.scaled(end)) for end in (last.low, last.high))
        return f"{name}: {mean} (interval {low} to {high}), claimed {self.claimed}."

    @property
    def claimed(self) -> str:
        low, high = self.condition.low, self.condition.high
        if self.condition.is_factor:
            return f"at least {low:g}×" if math.isinf(high) else f"at most {high:g}×"
        if math.isinf(low):
            return f"at most {high:+g}"
        return f"at least {low:+g}" if math.isinf(high) else f"within ±{high:g}"

    def words(self, value: float) -> str:
        return f"{value:.3g}×" if self.condition.is_factor else f"{value:+.3g}"


@dataclass(frozen=True)
class Result:
    """A claim with what its pairs say."""

    claim: StatedClaim
    found: list[Found]

    @cached_property
    def counted(self) -> int:
        """Pairs that are evidence."""
        return sum(not pair["refused"] for pair in self.claim.evidence)

    @property
    def verdict(self) -> str:
        """Supported when all conditions are (an intersection-union test: Berger, Technometrics 24,
        1982), refuted when one is."""
        states = [found.status for found in self.found]
        if REFUTED in states:
            return REFUTED
        return SUPPORTED if set(states) == {SUPPORTED} else UNDECIDED

    @property
    def needed(self) -> int | None:
        """How many pairs a verdict needs, if effects and spreads are as measured; None: unknown, or
        more than MAX_PAIRS."""
        known = [found.needed for found in self.found]
        against = [
            found.needed
            for found in self.found
            if found.needed and found.intervals and not _holds(found)
        ]
        if against:  # one refuted condition is enough
            return min(against)
        numbers = [number for number in known if number is not None]
        return max(numbers) if numbers and len(numbers) == len(known) else None

    @property
    def headline(self) -> str:
        """The verdict, in a sentence or two."""
        claim, pairs = self.claim, plural(self.counted, "pair")
        match claim.status:
            case "supported" | "refuted":
                return f"{claim.status.capitalize()} after {pairs} of runs."
            case "undecided":
                return f"Undecided within the budget: {pairs} counted. {self._further()}"
            case "invalid":
                return f"Invalid: {' '.join(claim.reasons)}"
            case "stopped":
                return f"Stopped after {pairs}, without a verdict."
        return f"Open: {pairs} of at most {claim.pairs} counted. {self._further()}"

    def _further(self) -> str:
        if self.counted < FIRST_LOOK:
            return f"How many are needed is estimated after {FIRST_LOOK}."
        if self.needed is None:
            return (
                f"A verdict would need more than {MAX_PAIRS} pairs if effects and spread"
                " are as measured so far."
            )
        return (
            f"About {plural(self.needed, 'pair')} are needed for a verdict with"
            f" {self.claim.power:.0%} power if effects and spread are as measured so far."
        )

    @property
    def caveats(self) -> list[str]:
        """What to mind: pairs that do not count, disturbances, how the intervals are meant."""
        claim = self.claim
        found = [f"Pair {p['pair']} does not count. {p['refused']}" for p in claim.evidence
                 if p["refused"]]  # fmt: skip
        found += dict.fromkeys(remark for pair in claim.evidence for remark in pair["remarks"])
        level = 1 - alpha(claim, len(self.found))
        features = dict.fromkeys(pair["features"] for pair in claim.evidence if pair["features"])
        found += [recorded({FACT: one}).description for one in features]
        found.append(
            f"The intervals after all numbers of pairs together contain the mean effect with"
            f" {level:.4g} probability, so the test may stop after any pair. They assume that the"
            " effects of pairs are independent and normal"
            + (", factors by their logarithms." if any(f.condition.is_factor for f in self.found)
               else ".")
        )  # fmt: skip
        found.append(
            "The verdict holds for this configuration, these seeds and this machine; it says"
            " nothing about others."
        )
        return found

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per pair: seed, order, runs, both values and the effect of each condition."""
        return pd.DataFrame([self._row(pair) for pair in self.claim.evidence])

    def _row(self, pair: dict[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = {
            "pair": pair["pair"],
            "seed": pair["seed"],
            "first": pair["order"][0],
            "control run": pair["runs"]["control"],
            "treatment run": pair["runs"]["treatment"],
        }
        for found in self.found:
            control, treatment = pair["values"][found.condition.key]
            name = found.condition.measure
            row[f"{name}, control"] = control
            row[f"{name}, treatment"] = treatment
            row[found.condition.label] = found.scaled(effect(found.condition, control, treatment))
        row["counts"] = "no" if pair["refused"] else "yes"
        return row


def of(claim: StatedClaim) -> Result:
    """From the stored claim alone."""
    conditions = statement.parse(claim.statement, str(claim.treatment["model"]))
    return Result(claim, [_found(claim, one, len(conditions)) for one in conditions])


def alpha(claim: StatedClaim, conditions: int) -> float:
    """The error of each condition's intervals, two-sided.

    All conditions must be supported, so none needs a smaller error for that; any one refutes the
    claim, by half of its error, so more than two share the error (Bonferroni).
    """
    return (1 - claim.confidence) * min(1.0, 2 / conditions)


def effect(condition: Condition, control: float, treatment: float) -> float:
    """The effect of the treatment: the logarithm of a factor, or a difference."""
    if not condition.is_factor:
        return treatment - control
    ratio = math.log(treatment / control)
    return ratio if condition.quantity in (RATE, MEMORY) else -ratio


def _found(claim: StatedClaim, condition: Condition, conditions: int) -> Found:
    counted = [pair for pair in claim.evidence if not pair["refused"]]
    effects = np.array(
        [effect(condition, *pair["values"][condition.key]) for pair in counted], dtype=np.float64
    )
    error = alpha(claim, conditions)
    intervals = sequential.intervals(effects, planned=claim.pairs, alpha=error)
    pairs = [int(pair["pair"]) for pair in counted]
    power = 1 - (1 - claim.power) / conditions
    return Found(condition, effects, intervals, pairs, error, power)


def _range(condition: Condition) -> tuple[float, float]:
    """Where the mean effect must lie, as `effect` gives it."""
    if not condition.is_factor:
        return condition.low, condition.high
    low = math.log(condition.low) if condition.low > 0 else -math.inf
    return low, math.log(condition.high) if math.isfinite(condition.high) else math.inf


def _holds(found: Found) -> bool:
    low, high = _range(found.condition)
    return low < found.intervals[-1].mean < high


def decided(result: Result) -> bool:
    """Whether more pairs would change nothing."""
    return result.claim.status != OPEN or result.verdict != UNDECIDED
