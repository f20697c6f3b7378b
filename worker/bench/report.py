"""Results: medians, ratios within the rounds, and whether the goals were reached. Pure: metrics in,
a document out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ganboard.worker.bench.candidates import Candidate, model_of_peers

START_SECONDS = 4.0  # the goal from process start to first finished step


@dataclass
class Result:
    """What was measured of one candidate; rounds (from 1) in which it did not run are absent."""

    candidate: Candidate
    rates: dict[int, float] = field(default_factory=dict)  # images/s by round
    # beside the platform: images/s of the bare trainer over as many steps
    partner: dict[int, float] = field(default_factory=dict)
    # from process start to first step, by round
    seconds: dict[int, float] = field(default_factory=dict)
    steps: int = 0  # of one turn
    step_seconds: float = 0.0  # roughly, for planning
    version: str = ""
    memory_bytes: int | None = None  # highest of all its processes together
    problem: str = ""


@dataclass(frozen=True)
class Goal:
    """`ours` shall be at least `wanted` times as fast as `theirs`."""

    text: str
    wanted: float
    ours: str
    precision: str  # of ours; empty: whatever it ran in
    theirs: str  # `partner`, a candidate, or a family of them whose best one counts
    their_precision: str  # empty: that of ours


GOALS = (
    Goal(
        "float32 >= 1.90 x the tutorial's loop in float32",
        1.90,
        "bare",
        "float32",
        "tutorial",
        "float32",
    ),
    Goal(
        "bfloat16 >= 2.80 x the tutorial's loop in float32",
        2.80,
        "bare",
        "mixed_bfloat16",
        "tutorial",
        "float32",
    ),
    Goal("bfloat16 >= 1.40 x PyTorch's best", 1.40, "bare", "mixed_bfloat16", "pytorch", ""),
    Goal(
        "through queue, database, grids and checkpoints >= 0.98 x the trainer alone",
        0.98,
        "platform",
        "",
        "partner",
        "",
    ),
    Goal("2 replicas >= 0.97 x one", 0.97, "replicas", "", "bare", ""),
    Goal("2 worker processes >= 0.97 x one", 0.97, "workers", "", "bare", ""),
    Goal("local SGD in 2 worker processes >= 0.97 x one", 0.97, "local-sgd", "", "bare", ""),
)


def ratio(ours: Mapping[int, float], theirs: Mapping[int, float]) -> float | None:
    """Median over the rounds of ours / theirs, so that what hits a whole round falls out. None
    without a common round."""
    shared = [ours[number] / theirs[number] for number in ours.keys() & theirs.keys()]
    return median(shared) if shared else None


def best(results: Sequence[Result], family: str) -> Result | None:
    """The candidate of a family, such as pytorch, with the highest median in whatever precision."""
    found = [
        result for result in results if result.candidate.name.startswith(family) and result.rates
    ]
    return max(found, key=lambda result: median(result.rates.values()), default=None)


def document(results: Sequence[Result], about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything, JSON-ready; `about` says on what and how it was measured. The goals are
    those of the model that other frameworks train too."""
    candidates = [_candidate(result, results, about["gflop_per_image"]) for result in results]
    if about["model"] != model_of_peers():
        return {**about, "candidates": candidates, "goals": []}
    goals = [
        _goal(
            goal.text,
            goal.wanted,
            reached := _reached(goal, results),
            reached and reached >= goal.wanted,
        )
        for goal in GOALS
    ]
    start = _find(results, "start", "")
    seconds = median(start.seconds.values()) if start and start.seconds else None
    text = f"process start to first finished step <= {START_SECONDS:g} s"
    return {
        **about,
        "candidates": candidates,
        "goals": [
            *goals,
            _goal(text, START_SECONDS, seconds, seconds and seconds <= START_SECONDS),
        ],
    }


def spread(values: Mapping[int, float]) -> dict[str, Any] | None:
    """Median, extremes and the values in the order of their rounds; None when there are none."""
    rounds = [values[number] for number in sorted(values)]
    return (
        {"median": median(rounds), "min": min(rounds), "max": max(rounds), "rounds": rounds}
        if rounds
        else None
    )


def _candidate(result: Result, results: Sequence[Result], gflop: float) -> dict[str, Any]:
    candidate = result.candidate
    speed = spread(result.rates)
    yardsticks = {
        "bare": _find(results, "bare", candidate.precision),
        "tutorial": _find(results, "tutorial", "float32"),
        "pytorch": best(results, "pytorch"),
        "floor": _find(results, "floor", candidate.precision),
    }
    return {
        "name": candidate.name,
        "title": candidate.title,
        "precision": candidate.precision,
        "images_per_second": speed,
        "gflops": speed and speed["median"] * gflop,
        "ratios": {
            name: ratio(result.rates, other.rates) if other else None
            for name, other in yardsticks.items()
        },
        "alone_images_per_second": spread(result.partner),
        "start_seconds": spread(result.seconds),
        "steps_per_turn": result.steps or None,
        "memory_bytes": result.memory_bytes,
        "version": result.version,
        "problem": result.problem or None,
    }


def _goal(text: str, wanted: float, reached: float | None, met: Any) -> dict[str, Any]:
    return {
        "goal": text,
        "wanted": wanted,
        "reached": reached,
        "met": None if reached is None else bool(met),
    }


def _reached(goal: Goal, results: Sequence[Result]) -> float | None:
    ours = _find(results, goal.ours, goal.precision)
    if ours is None:
        return None
    if goal.theirs == "partner":
        return ratio(ours.rates, ours.partner)
    precision = goal.their_precision or ours.candidate.precision
    theirs = (
        best(results, "pytorch")
        if goal.theirs == "pytorch"
        else _find(results, goal.theirs, precision)
    )
    return ratio(ours.rates, theirs.rates) if theirs else None


def _find(results: Sequence[Result], name: str, precision: str) -> Result | None:
    """The first result of that name, in that precision if one is given."""
    return next(
        (
            each
            for each in results
            if each.candidate.name == name and precision in ("", each.candidate.precision)
        ),
        None,
    )
