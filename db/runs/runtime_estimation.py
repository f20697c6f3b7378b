"""How long a run would take, learned from stored runs: pure functions over what
`queries.measured_runs` read."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ganboard.db.models import Run

# settings on which the seconds per image depend, beside the batch, the strategy and the replicas
OF_SPEED = (
    "model", "table1_literal", "discriminator_batch_norm", "accumulate", "d_steps", "loss", "r1", "precision", "xla", "loop",
    "convolution", "recompute",
)  # fmt: skip
NEWEST = 5  # runs with the same settings whose median counts: a machine changes with time
SLACK = 1.1  # allowance, both ways, for each conclusion from other settings
STRETCH = 4.0  # how far one measured batch says something about another

RATE = (
    "Real images per second of training: median over the finished epochs, compiling left out; in"
    " the first epoch of the newest steps"
)
LEFT = (
    "Images still to train on, divided by Images/s; compiling, evaluating and saving are not in it"
)

Settings = tuple[Any, ...]  # (strategy, replicas) and the values of OF_SPEED


@dataclass(frozen=True)
class Measured:
    """What one stored run took."""

    config: Mapping[str, Any]
    host: str
    seconds: float  # of training, compiling left out
    images: int  # that passed in these seconds
    # seconds beside training: starting, compiling, judging, saving; None unless it finished in one
    # attempt
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


@dataclass(frozen=True)
class _Guess:
    likely: float
    low: float
    high: float
    words: str

    def times(self, low: float, likely: float, high: float, words: str) -> _Guess:
        return _Guess(
            self.likely * likely, self.low * low, self.high * high, f"{self.words}{words}"
        )


class History:
    """Stored runs, newest first, ready for many questions."""

    def __init__(self, runs: Iterable[Measured]) -> None:
        self._runs = [run for run in runs if run.images > 0 and run.seconds > 0]
        # by host, settings and batch; the newest first
        self._paces: dict[str, dict[Settings, dict[int, list[float]]]] = {}
        for run in self._runs:
            batches = self._paces.setdefault(run.host, {}).setdefault(_settings(run.config), {})
            batches.setdefault(run.config.get("batch_size", 0), []).append(run.seconds / run.images)
        self._ratios: dict[tuple[str, int, Any, Any], list[float]] = {}

    def estimate(self, config: Mapping[str, Any], host: str | None = None) -> Estimate | None:
        """The pace of `config` on `host` (None: where the newest run trained); None when nothing
        near was measured there.

        The nearest knowledge wins: the same settings of speed; a line through several batches, t =
        b + a / batch seconds per image; the same times one or two ratios that pairs of runs show
        for a change of one setting; one other batch, at most STRETCH times away.
        """
        host = host if host is not None else next((run.host for run in self._runs), "")
        wanted, batch = _settings(config), config.get("batch_size", 0)
        near = (
            self._near(host, settings, batches, wanted, batch)
            for settings, batches in self._paces.get(host, {}).items()
        )
        found = [each for each in near if each]
        if not found:
            return None
        _, guess = min(found, key=lambda each: (each[0], each[1].high / each[1].low))
        return Estimate(
            guess.likely,
            guess.low,
            guess.high,
            f"{guess.words}, on {host}",
            self._beside(config, host),
        )

    def _near(
        self,
        host: str,
        settings: Settings,
        batches: Mapping[int, list[float]],
        wanted: Settings,
        batch: int,
    ) -> tuple[int, _Guess] | None:
        """What runs with `settings` say about `wanted`, and how far fetched that is; None when
        nothing."""
        changes = [position for position, value in enumerate(settings) if value != wanted[position]]
        based = _at_batch(batches, batch) if len(changes) <= 2 else None
        if based is None:
            return None
        distance, guess = based
        if not changes and not distance:
            return 0, replace(
                guess,
                words=(
                    f"measured on {_runs(len(batches[batch][:NEWEST]))} with the same settings of"
                    " speed"
                ),
            )
        for position in changes:
            scaled = self._scaled(guess, host, position, wanted[position], settings[position])
            if scaled is None:
                return None
            guess = scaled
        return distance + 2 * len(changes), guess

    def _scaled(
        self, guess: _Guess, host: str, position: int, to: Any, start: Any
    ) -> _Guess | None:
        """The guess for another value of one setting, if pairs of runs that differ in nothing else
        show what that does."""
        ratios = self._ratio(host, position, to, start)
        if not ratios:
            return None
        pairs = f"{len(ratios)} pair{'s' * (len(ratios) > 1)} of runs"
        words = (
            f", times {median(ratios):.2f} for {_named(position, to)} instead of"
            f" {_value(position, start)} ({pairs})"
        )
        return guess.times(min(ratios) / SLACK, median(ratios), max(ratios) * SLACK, words)

    def _ratio(self, host: str, position: int, to: Any, start: Any) -> list[float]:
        key = (host, position, to, start)
        if key not in self._ratios:
            paces = self._paces[host]
            pairs = [
                (batches, paces[other])
                for settings, batches in paces.items()
                if settings[position] == start
                and (other := (*settings[:position], to, *settings[position + 1 :])) in paces
            ]
            self._ratios[key] = [
                _pace(new[batch]) / _pace(old[batch])
                for old, new in pairs
                for batch in old.keys() & new.keys()
            ]
        return self._ratios[key]

    def _beside(self, config: Mapping[str, Any], host: str) -> float | None:
        judges = bool(config.get("quality_every"))
        found = [
            run.beside
            for run in self._runs
            if run.host == host
            and run.beside is not None
            and bool(run.config.get("quality_every")) == judges
            and placed(run.config) == placed(config)
            and run.config.get("xla") == config.get("xla")
        ]
        return median(found[:NEWEST]) if found else None


def images_per_second(epochs: Iterable[tuple[int, float]]) -> float | None:
    """Images/s of a run, wherever it is shown: the median over its finished epochs, given as
    (images, seconds of training).

    None while no epoch took any time. Until then the newest steps count
    (`db.runs.reports.append_steps`).
    """
    rates = [images / seconds for images, seconds in epochs if 0 < seconds < math.inf]
    return median(rates) if rates else None


def seconds_left(images: float, rate: float | None) -> float | None:
    """Time left of a run, wherever it is shown: so many images at its Images/s. None where that is
    not known."""
    return images / rate if rate else None


def images_left(run: Run) -> int:
    """Images that pass through training until `run` has all its epochs; its trainer must have said
    how many steps each has."""
    steps = int(run.config["epochs"]) * (run.steps_per_epoch or 0)
    return (steps - run.step) * int(run.config["batch_size"])


def begins(
    training: Sequence[float | None], waiting: Sequence[float | None], workers: int
) -> float | None:
    """Seconds until a run that is queued now would begin; None when that hangs on a run of unknown
    length, or nobody works.

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
    """Strategy and replicas of stored settings; `auto` by what it stands for, as in
    RunConfig.effective_strategy."""
    strategy, replicas = config.get("strategy", "auto"), config.get("replicas", 1)
    return (
        ("mirrored" if replicas > 1 else "default") if strategy == "auto" else strategy,
        replicas,
    )


def _settings(config: Mapping[str, Any]) -> Settings:
    return (placed(config), *(config.get(name) for name in OF_SPEED))


def _named(position: int, value: Any) -> str:
    return (
        f"{OF_SPEED[position - 1]}={_value(position, value)}"
        if position
        else _value(position, value)
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


def _pace(seconds: list[float]) -> float:
    return median(seconds[:NEWEST])


def _at_batch(batches: Mapping[int, list[float]], batch: int) -> tuple[int, _Guess] | None:
    """Seconds per image at `batch` where all else is equal, and how far fetched that is: 0, 1, or 6
    from a single other batch."""
    if same := batches.get(batch, [])[:NEWEST]:
        return 0, _Guess(
            median(same), min(same), max(same), f"from {_runs(len(same))} with batch {batch}"
        )
    words = (
        f"from {_runs(sum(len(runs[:NEWEST]) for runs in batches.values()))} with batch"
        f" {_listed(sorted(batches))}"
    )
    points = sorted((size, _pace(runs)) for size, runs in batches.items() if size > 0)
    if not points or batch <= 0:
        return None
    if len(points) > 1:
        per_image, per_step = fit(points)
        likely = per_image + per_step / batch
        off = max(
            max(pace / (per_image + per_step / size), (per_image + per_step / size) / pace)
            for size, pace in points
        )
        bounds = [likely]
        # out there the time per image may also stay as it is at the last batch
        if not points[0][0] < batch < points[-1][0]:
            bounds.append(min(points, key=lambda point: abs(point[0] - batch))[1])
        return 1, _Guess(likely, min(bounds) / off / SLACK, max(bounds) * off * SLACK, words)
    [(size, pace)] = points
    if not 1 / STRETCH <= batch / size <= STRETCH:
        return None
    per_step = pace * size / batch  # were all of the time that of a step, whatever its batch
    low, high = min(pace, per_step), max(pace, per_step)
    return 6, _Guess((low * high) ** 0.5, low / SLACK, high * SLACK, f"{words} alone")


def fit(points: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """(b, a) of t = b + a / batch, both at least 0, with the least sum of squared relative errors;
    `points` are (batch, t) pairs.

    b are seconds per image, a seconds per step. At least two different batches are needed.
    """
    from scipy.optimize import nnls  # noqa: PLC0415  # slow to load, and few estimates need it

    # relative errors: both columns and the target are divided by t
    columns = [(1 / pace, 1 / (size * pace)) for size, pace in points]
    (b, a), _ = nnls(columns, [1.0] * len(points))
    return float(b), float(a)


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count > 1)}"


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(
        part for part in (", ".join(map(str, numbers[:-1])), str(numbers[-1])) if part
    )
