"""How long a run would take, learned from stored runs: pure functions over what
`past_runs.measured_runs` read."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from ganboard.db.runs.time_per_image import (
    NEWEST,
    SLACK,
    Guess,
    at_batch,
    median_of_newest,
    runs_in_words,
)

if TYPE_CHECKING:
    from ganboard.db.models import Run


RATE = (
    "Real images per second of training: median over the finished epochs, without compilation; in"
    " the first epoch over the latest steps"
)
LEFT = (
    "Remaining images divided by images/s, without compilation, evaluation and checkpoints; at most"
    " what max_minutes leaves"
)

Settings = tuple[Any, ...]  # (strategy, replicas) and the values of the settings of speed


@dataclass(frozen=True)
class Measured:
    """What one stored run took."""

    config: Mapping[str, Any]
    host: str
    seconds: float  # of training, compiling left out
    images: int  # that passed in these seconds
    # seconds beside training: starting, compiling, evaluating, saving; None unless it finished in
    # one attempt
    beside: float | None


@dataclass(frozen=True)
class Estimate:
    """Seconds of training per image: likely, at least and at most; and in words from what."""

    likely: float
    low: float
    high: float
    basis: str
    beside: float | None  # seconds per run beside training, None where no such run was measured

    @property
    def certain(self) -> bool:
        """Whether the range is too narrow to be worth showing."""
        return self.high < 1.1 * self.low

    def seconds(self, images: float) -> float:
        """What a run takes that trains on so many images, likely."""
        return self.likely * images + (self.beside or 0.0)


class History:
    """Stored runs, newest first, ready for many questions.

    `speed_settings` are those on which the seconds per image depend, beside the batch, the strategy
    and the replicas, with what counts for runs that are too old to have them.
    """

    def __init__(self, runs: Iterable[Measured], speed_settings: Mapping[str, Any]) -> None:
        self._speed_settings = speed_settings
        self._runs = [run for run in runs if run.images > 0 and run.seconds > 0]
        # by host, settings and batch; the newest first
        self._rates: dict[str, dict[Settings, dict[int, list[float]]]] = {}
        for run in self._runs:
            batches = self._rates.setdefault(run.host, {}).setdefault(
                self._settings(run.config), {}
            )
            batches.setdefault(run.config.get("batch_size", 0), []).append(run.seconds / run.images)
        self._ratios: dict[tuple[str, int, Any, Any], list[float]] = {}

    def estimate(self, config: Mapping[str, Any], host: str | None = None) -> Estimate | None:
        """Runtime estimate of `config` on `host` (None: where the latest run trained); None without
        a similar measurement there.

        The nearest knowledge wins: the same settings of speed; a line through several batches, t =
        b + a / batch seconds per image; the same times one or two ratios that pairs of runs show
        for a change of one setting; one other batch, at most STRETCH times away.
        """
        host = host if host is not None else next((run.host for run in self._runs), "")
        wanted, batch = self._settings(config), config.get("batch_size", 0)
        near = (
            self._near(host, settings, batches, wanted, batch)
            for settings, batches in self._rates.get(host, {}).items()
        )
        found = [each for each in near if each]
        if not found:
            return None
        _, guess = min(found, key=lambda each: (each[0], each[1].high / each[1].low))
        return Estimate(
            guess.likely,
            guess.low,
            guess.high,
            f"{guess.text}, on {host}",
            self._beside(config, host),
        )

    def _near(
        self,
        host: str,
        settings: Settings,
        batches: Mapping[int, list[float]],
        wanted: Settings,
        batch: int,
    ) -> tuple[int, Guess] | None:
        """What runs with `settings` say about `wanted`, and how far fetched that is; None when
        nothing."""
        changes = [position for position, value in enumerate(settings) if value != wanted[position]]
        based = at_batch(batches, batch) if len(changes) <= 2 else None
        if based is None:
            return None
        distance, guess = based
        if not changes and not distance:
            return 0, replace(
                guess,
                text=(
                    f"measured on {runs_in_words(len(batches[batch][:NEWEST]))} with the same"
                    " performance settings"
                ),
            )
        for position in changes:
            scaled = self._scaled(guess, host, position, wanted[position], settings[position])
            if scaled is None:
                return None
            guess = scaled
        return distance + 2 * len(changes), guess

    def _scaled(self, guess: Guess, host: str, position: int, to: Any, start: Any) -> Guess | None:
        """The guess for another value of one setting, if pairs of runs that differ in nothing else
        show what that does."""
        ratios = self._ratio(host, position, to, start)
        if not ratios:
            return None
        pairs = f"{len(ratios)} pair{'s' * (len(ratios) > 1)} of runs"
        text = (
            f", times {median(ratios):.2f} for {self._named(position, to)} instead of"
            f" {_value(position, start)} ({pairs})"
        )
        return guess.times(min(ratios) / SLACK, median(ratios), max(ratios) * SLACK, text)

    def _ratio(self, host: str, position: int, to: Any, start: Any) -> list[float]:
        key = (host, position, to, start)
        if key not in self._ratios:
            host_points = self._rates[host]
            pairs = [
                (batches, host_points[other])
                for settings, batches in host_points.items()
                if settings[position] == start
                and (other := (*settings[:position], to, *settings[position + 1 :])) in host_points
            ]
            self._ratios[key] = [
                median_of_newest(new[batch]) / median_of_newest(old[batch])
                for old, new in pairs
                for batch in old.keys() & new.keys()
            ]
        return self._ratios[key]

    def _settings(self, config: Mapping[str, Any]) -> Settings:
        of_speed = (config.get(name, usual) for name, usual in self._speed_settings.items())
        return (placed(config), *of_speed)

    def _named(self, position: int, value: Any) -> str:
        text = _value(position, value)
        return f"{list(self._speed_settings)[position - 1]}={text}" if position else text

    def _beside(self, config: Mapping[str, Any], host: str) -> float | None:
        evaluates = bool(config.get("quality_every"))
        found = [
            run.beside
            for run in self._runs
            if run.host == host
            and run.beside is not None
            and bool(run.config.get("quality_every")) == evaluates
            and placed(run.config) == placed(config)
            and run.config.get("xla") == config.get("xla")
        ]
        return median(found[:NEWEST]) if found else None


def images_per_second(epochs: Iterable[tuple[int, float]]) -> float | None:
    """Images/s of a run, wherever it is shown: the median over its finished epochs, given as
    (images, seconds of training).

    None while no epoch took any time or counted its images. Until then the newest steps count
    (`db.runs.reports.append_steps`).
    """
    rates = [images / seconds for images, seconds in epochs if images and 0 < seconds < math.inf]
    return median(rates) if rates else None


def seconds_left(images: float, rate: float | None) -> float | None:
    """Time left of a run: remaining images at its images/s. None if unknown."""
    return images / rate if rate else None


def time_left(run: Run) -> float | None:
    """Seconds until `run` has all its epochs, at its own Images/s, or until its first attempt ends
    by max_minutes; None before its first step."""
    steps = int(run.config["epochs"]) * (run.steps_per_epoch or 0)
    images = (steps - run.step) * int(run.config["batch_size"])
    left = seconds_left(images, run.images_per_second)
    limit = 60 * float(run.config.get("max_minutes", 0))
    if left is None or not limit or run.attempt > 1:
        return left
    return min(left, max(0.0, limit - run.seconds))


def begins(
    training: Sequence[float | None], waiting: Sequence[float | None], workers: int
) -> float | None:
    """Seconds until a run that is queued now would start; None if that depends on a run of unknown
    length, or no worker is running.

    `training` are the seconds that the runs in training have left, `waiting` those that the runs
    queued before will take.
    """
    if workers > len(training) + len(waiting):
        return 0.0
    known = [seconds for seconds in (*training, *waiting) if seconds is not None]
    if not workers or len(known) < len(training) + len(waiting):
        return None
    free = sorted(known[: len(training)])[:workers] + [0.0] * (workers - len(training))
    heapq.heapify(free)
    for seconds in known[len(training) :]:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return free[0]


def placed(config: Mapping[str, Any]) -> tuple[str, int]:
    """Strategy and replicas of stored settings; `auto` is resolved as in
    RunConfig.effective_strategy."""
    strategy, replicas = config.get("strategy", "auto"), config.get("replicas", 1)
    return (
        ("mirrored" if replicas > 1 else "default") if strategy == "auto" else strategy,
        replicas,
    )


def _value(position: int, value: Any) -> str:
    if position == 0:
        strategy, replicas = value
        return (
            "1 replica"
            if replicas == 1 and strategy == "default"
            else f"{replicas} replicas ({strategy})"
        )
    return str(value).lower() if isinstance(value, bool) else str(value)
