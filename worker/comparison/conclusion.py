"""Summary of a comparison: speed and quality of each run relative to the baseline, and what makes
it unfair.

Pure: from stored metrics to sentences of plain text (escape them before they are shown).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from ganboard.db.models import ENDED, Run
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import conflict, recorded
from ganboard.worker import formatting
from ganboard.worker.comparison import fairness
from ganboard.worker.comparison.choices import choices
from ganboard.worker.figures.quality import headline

CLOSE = 0.02  # what differs by less is about equal, however exactly it was measured
UNKNOWN_SPREAD = 0.10  # of FID, with too few evaluations
BLURRED = 0.3  # of FID: what varies by more shows nothing


@dataclass(frozen=True)
class Result:
    """A run as a conclusion needs it."""

    run: Run
    label: str  # its unique name
    rates: npt.NDArray[np.float64]  # images per second of each finished epoch
    evaluated: npt.NDArray[np.int64]  # epochs with an evaluation, ascending
    found: npt.NDArray[np.float64]  # the headline of the baseline's model


@dataclass(frozen=True)
class Against:
    """One run against the baseline."""

    subject: str
    sentence: str
    ratio: float | None = None  # of speeds; None where they are about equal or unknown
    gain: float | None = None  # of that headline, positive is better; None where equal or unknown
    quality: str = ""  # both numbers in words, empty where they cannot be compared
    open: bool = False  # its images may be better: evaluations vary by more than the difference
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Conclusion:
    """The result in a sentence or two, every run's own sentence, and what to mind."""

    headline: str
    each: list[str]
    remarks: list[str]


def conclude(base: Result, others: list[Result], now: datetime) -> Conclusion:
    """The sentences on `others` (one or more) against `base`; `now` is the end of what still
    trains."""
    if not len(base.rates):
        ended = base.run.status in ENDED
        what = (
            "has finished no epoch. Choose another baseline."
            if ended
            else "has not finished an epoch yet. Ratios appear after the first epoch."
        )
        return Conclusion(f"The baseline “{base.label}” {what}", [], [])
    names = [choices(base.run, other.run) for other in others]
    times = Counter(mine for mine, _ in names)
    found = []
    for other, (mine, its) in zip(others, names, strict=True):
        subject = (
            f"“{other.label}”"
            if not mine
            else f"{mine} (“{other.label}”)"
            if times[mine] > 1
            else mine
        )
        found.append(_against(base, other, subject, its or f"“{base.label}”", now))
    remarks = [*fairness.state(base.run, len(base.rates), "The baseline"), *_shared(found)]
    if len(found) <= 2:
        return Conclusion(" ".join(entry.sentence for entry in found), [], remarks)
    return Conclusion(_best(base, found), [entry.sentence for entry in found], remarks)


def _against(base: Result, other: Result, subject: str, its: str, now: datetime) -> Against:
    remarks = [
        *fairness.state(other.run, len(other.rates), subject),
        *fairness.remarks(base.run, other.run, now),
    ]
    if not len(other.rates):
        if other.run.status in ENDED:
            return Against(
                subject, f"{subject} has finished no epoch and cannot be compared.", remarks=remarks
            )
        return Against(subject, f"{subject} has not finished an epoch yet.")
    ratio, speed = _speed(base, other)
    quality = _quality(base, other)
    sentence = f"{subject} is {speed} {its}{_joined(ratio, quality)}."
    if {base.run.status, other.run.status} - set(ENDED):
        sentence = f"So far, {sentence}"
    return Against(
        subject,
        sentence,
        ratio,
        quality.gain,
        quality.words,
        quality.open,
        [*remarks, *quality.unclear],
    )


def _speed(base: Result, other: Result) -> tuple[float | None, str]:
    """The ratio of median images per second, None within its error or 2 %, and words for it that
    end before the other's name."""
    ratio = float(np.median(other.rates) / np.median(base.rates))
    noise = 2 * math.hypot(_error(base.rates), _error(other.rates))
    if abs(math.log(ratio)) <= math.log1p(max(CLOSE, noise)):
        wide = (
            f" (within the measurement error of {formatting.share(noise)})" if noise > CLOSE else ""
        )
        return None, f"about as fast{wide} as"
    return ratio, (
        f"{factor(ratio)} faster than" if ratio > 1 else f"{factor(1 / ratio)} slower than"
    )


def _error(rates: npt.NDArray[np.float64]) -> float:
    """Standard error of the median as a share of it, by the median deviation, which one slow epoch
    does not move; 0 for fewer than FEW."""
    median = np.median(rates)
    # that of a normal distribution
    spread = 1.4826 * float(np.median(np.abs(rates - median)) / median)
    return 1.2533 * spread / math.sqrt(len(rates)) if len(rates) >= fairness.FEW else 0.0


def factor(ratio: float) -> str:
    """1.478 -> "1.48×", 12.34 -> "12.3×", 1234.5 -> "1,234×"."""
    return (
        f"{ratio:.2f}×" if ratio < 9.995 else f"{ratio:.1f}×" if ratio < 99.95 else f"{ratio:,.0f}×"
    )


@dataclass(frozen=True)
class _Quality:
    """As in `Against`; `unclear` says why two runs cannot be compared."""

    gain: float | None = None
    words: str = ""
    open: bool = False
    unclear: list[str] = field(default_factory=list)


def _quality(base: Result, other: Result) -> _Quality:
    """How much lower the headline of `other` is, at the last epoch at which both were evaluated."""
    settings = [result.run.config for result in (base, other)]
    if any(
        settings[0].get(name) != settings[1].get(name)
        for name in ("model", "dataset", "images_path")
    ):
        return _Quality()  # a remark on the data says so
    missing = [result for result in (base, other) if not len(result.found)]
    if len(missing) == 2:
        return _Quality(
            unclear=["Quality was not evaluated: evaluate the runs in the tab Quality."]
        )
    if missing:
        return _Quality(
            unclear=[
                f"The quality of “{missing[0].label}” was not evaluated, so it is not compared."
            ]
        )
    measure = METRICS[headline(settings[0])]
    sources = [recorded(result.run.facts) for result in (base, other)]
    if measure.by_features and (sentence := conflict(measure.label, sources)):
        return _Quality(unclear=[sentence])
    images = [config.get("quality_images") for config in settings]
    if images[0] != images[1]:
        return _Quality(
            unclear=[
                f"Quality was evaluated with {formatting.format_value(images[0])} and"
                f" {formatting.format_value(images[1])} images: such distances cannot be compared."
            ]
        )
    common = np.intersect1d(base.evaluated, other.evaluated)
    if not len(common):
        return _Quality(
            unclear=[
                "They were not evaluated after the same epochs, so quality is not compared. Use"
                " the same quality_every."
            ]
        )
    base_found, found = (result.found[result.evaluated <= common[-1]] for result in (base, other))
    before, after = float(base_found[-1]), float(found[-1])
    word = measure.in_sentences(sources[0])
    numbers = (
        f"{word} {formatting.decimal(after, _digits(after))} against"
        f" {formatting.decimal(before, _digits(before))} after epoch {common[-1]}"
    )
    if not (math.isfinite(before) and math.isfinite(after)):
        return _Quality(words=f"; quality cannot be compared: {numbers}")
    spreads = [_spread(values) for values in (base_found, found)]
    known = [spread for spread in spreads if spread is not None]
    share = max(math.expm1(2 * math.hypot(*known)), CLOSE) if len(known) == 2 else UNKNOWN_SPREAD
    tolerance = share * before
    if len(known) == 2 and share > BLURRED and abs(after - before) <= tolerance:
        return _Quality(
            words=f"; no measurable difference in quality: {numbers}, which varies by"
            f" ±{tolerance:.2g} between evaluations",
            open=after < before,
        )
    if abs(after - before) <= tolerance:
        why = (
            f"±{tolerance:.2g}, the variation between evaluations"
            if len(known) == 2
            else "10 %, as there are too few evaluations to estimate the variation"
        )
        return _Quality(words=f" at equal quality: {numbers} (equal within {why})")
    verdict = "better" if after < before else "worse"
    return _Quality(before - after, f" images are {verdict}: {numbers}")


def _spread(found: npt.NDArray[np.float64]) -> float | None:
    """Standard deviation of an evaluation as a share of it, without the course of training, from
    the last ten; None below five.

    The second differences of the logarithm have six times its variance and cancel a steady fall; it
    is estimated by their median deviation.
    """
    last = np.log(found[np.isfinite(found) & (found > 0)][-10:])
    return (
        1.4826 * float(np.median(np.abs(np.diff(last, 2)))) / math.sqrt(6)
        if len(last) >= 5
        else None
    )


def _digits(value: float) -> int:
    return 1 if value >= 10 else 2 if value >= 1 else 4


def _joined(ratio: float | None, quality: _Quality) -> str:
    """The words on quality as they follow those on speed: "but" where one is paid for by the
    other."""
    if quality.gain is None:
        return quality.words
    trade = ratio is not None and (ratio > 1) != (quality.gain > 0)
    return f"{', but' if trade else ', and'} its{quality.words}"


def _shared(found: list[Against]) -> list[str]:
    """Every remark once; where it does not hold for all runs and names none of them, with those for
    which it does."""
    holders: dict[str, list[str]] = {}
    for entry in found:
        for remark in dict.fromkeys(entry.remarks):
            holders.setdefault(remark, []).append(entry.subject)
    said = []
    for remark, subjects in holders.items():
        plain = len(subjects) == len(found) or remark.startswith(tuple(subjects))
        said.append(remark if plain else f"{', '.join(subjects)}: {remark}")
    return said


def _best(base: Result, found: list[Against]) -> str:
    """Of many runs: the fastest, and the one with the best images."""
    fastest = max(found, key=lambda entry: entry.ratio or 0.0)
    if fastest.ratio is not None and fastest.ratio > 1:
        speed = (
            f"Fastest is {fastest.subject}: {factor(fastest.ratio)} the baseline “{base.label}”."
        )
    else:
        speed = f"None is faster than the baseline “{base.label}”."
    if not any(entry.quality for entry in found):
        return speed
    best = max(found, key=lambda entry: -math.inf if entry.gain is None else entry.gain)
    if best.gain is not None and best.gain > 0:
        return f"{speed} The best images come from {best.subject}:{best.quality.partition(':')[2]}."
    if unclear := [entry.subject for entry in found if entry.open]:
        which = " or ".join(unclear) if len(unclear) <= 2 else f"one of {len(unclear)} runs"
        return (
            f"{speed} Whether {which} has better images is open: the evaluations vary by more than"
            " the difference."
        )
    if all(entry.quality for entry in found):
        return f"{speed} No run has better images."
    return f"{speed} Of the runs whose quality can be compared, none has better images."
