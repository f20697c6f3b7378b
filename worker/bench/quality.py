"""`ganboard bench quality`: seconds of training until a recipe reaches a Fréchet distance, over
several seeds.

A recipe is a preset, or a preset with changed settings (`paper+precision=mixed_bfloat16`). All
train on the same images and are evaluated in the same features, through the queue of a `ganboard
up` of their own. Recipes alternate, so that a slow phase of the machine does not hit one alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import isfinite, nan
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from scipy import stats
from sqlalchemy.engine import Engine

from ganboard.db.models import Quality, Run
from ganboard.db.runs import queries
from ganboard.db.settings import Settings
from ganboard.gan import presets
from ganboard.gan.config import ConfigError, RunConfig, parse_assignments, plan
from ganboard.gan.data import catalog
from ganboard.gan.settings.features import CLASSIFIER
from ganboard.worker.bench.benchmark import find_hardware
from ganboard.worker.bench.candidates import BenchmarkError
from ganboard.worker.bench.platform import Platform
from ganboard.worker.bench.runner import Doing, Watcher
from ganboard.worker.process.energy import Energy

RECIPES = ("paper+precision=mixed_bfloat16", "mnist")
FID = 5.0  # the published recipe needs 9 to 12 epochs for it
MAX_SEEDS, MAX_MINUTES = 100, 100_000
IMAGES = 5000  # that are compared
CONFIDENCE = 0.95


@dataclass(frozen=True)
class QualityOptions:
    """What the command was asked."""

    recipes: Sequence[str] = RECIPES
    dataset: str = "mnist"
    fid: float = FID
    seeds: int = 3
    minutes: float = 20.0  # of training, after which an attempt has not reached it


@dataclass(frozen=True)
class Recipe:
    """Settings with a name; an evaluation after each epoch, and none of them ends by itself."""

    name: str
    config: RunConfig

    def seeded(self, seed: int) -> RunConfig:
        return self.config.model_copy(update={"seed": seed})


@dataclass(frozen=True)
class Attempt:
    """One training of a recipe."""

    seed: int
    problem: str = ""
    fid: float | None = None  # of the evaluation that reached it, or the best one
    epoch: int | None = None  # of that evaluation
    training_seconds: float | None = None  # until that evaluation; None where it was not reached
    # from submission to its result: start, compiling, evaluations; without preparing the features
    wall_seconds: float | None = None
    images_per_second: float | None = None
    joules: float | None = None  # of the processors, from submission to the end


@dataclass
class Result:
    """All trainings of a recipe."""

    recipe: Recipe
    attempts: list[Attempt] = field(default_factory=list)


def read_recipe(text: str, options: QualityOptions) -> Recipe:
    """The recipe that `PRESET` or `PRESET+KEY=VALUE+...` names. Raises ConfigError."""
    preset, *changes = text.split("+")
    own = presets.load(preset, parse_assignments(changes))
    fixed = {
        "dataset": options.dataset,
        "images_path": "",
        "quality_every": 1,
        "quality_images": IMAGES,
        "quality_features": CLASSIFIER,
        "max_minutes": options.minutes,
        # it ends when it has reached the distance
        "epochs": own.epochs if own.schedule != "constant" else 100_000,
    }
    if "quality_features" not in type(own).model_fields:
        raise ConfigError(
            f"{text[:80]} trains model={own.model}, whose quality is no Fréchet distance: name"
            " presets of images."
        )
    return Recipe(text, presets.load(preset, {**parse_assignments(changes), **fixed}))


def measure(settings: Settings, options: QualityOptions, watcher: Watcher) -> dict[str, Any]:
    """Train every recipe with every seed; returns the document that `quality_view` shows. Raises
    ConfigError, DatasetError and ServiceFailed."""
    recipes = _checked(settings, options)
    results = [Result(recipe) for recipe in recipes]
    began, hardware = datetime.now(UTC), find_hardware()
    with tempfile.TemporaryDirectory(dir=settings.prepare_home(), prefix="bench-") as folder:
        platform = Platform(Path(folder, "home"), settings.data)
        try:
            _run(platform, results, options, watcher)
        finally:
            platform.end()
    return {
        "began": began.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - began).total_seconds(), 1),
        "dataset": options.dataset,
        "fid": options.fid,
        "images": IMAGES,
        "minutes": options.minutes,
        "hardware": hardware,
        "recipes": [_document(result) for result in results],
    }


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % confidence interval of the mean by Student's t distribution; None for fewer than
    three values."""
    if len(values) < 3:
        return None
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * stdev(values)
    half /= len(values) ** 0.5
    return fmean(values) - half, fmean(values) + half


def _checked(settings: Settings, options: QualityOptions) -> list[Recipe]:
    """The recipes, when all can be trained."""
    if not 1 <= options.seeds <= MAX_SEEDS:
        raise ConfigError(f"seeds={options.seeds} is invalid. It must be from 1 to {MAX_SEEDS}.")
    if not 0 < options.fid < float("inf"):
        raise ConfigError(f"fid={options.fid:g} is invalid. It must be above 0.")
    if not 0 < options.minutes <= MAX_MINUTES:
        raise ConfigError(
            f"minutes={options.minutes:g} is invalid. It must be above 0 and at most {MAX_MINUTES}."
        )
    recipes = [read_recipe(text, options) for text in dict.fromkeys(options.recipes)]
    for recipe in recipes:
        plan(recipe.config, catalog.count(recipe.config, settings.data))
    return recipes


def _run(
    platform: Platform, results: Sequence[Result], options: QualityOptions, watcher: Watcher
) -> None:
    took: dict[str, float] = {}
    for seed in range(options.seeds):
        for number, result in enumerate(results):
            rest = [each.recipe.name for each in results[number:]]
            rest += [each.recipe.name for each in results] * (options.seeds - seed - 1)
            known = all(name in took for name in rest)
            left = sum(took[name] for name in rest) if known else None
            began = time.monotonic()
            attempt = _attempt(platform, result.recipe, seed, options, _Report(watcher, left))
            result.attempts.append(attempt)
            took[result.recipe.name] = time.monotonic() - began
            watcher.done(
                f"seed {seed}: {result.recipe.name}: {describe(attempt)}",
                sum(took[name] for name in rest[1:]) if known else 0.0,
            )


@dataclass(frozen=True)
class _Report:
    watcher: Watcher
    left: float | None  # when the attempt began

    def __call__(self, seed: int, text: str) -> None:
        self.watcher.doing(Doing(seed + 1, text, self.left))


def _attempt(
    platform: Platform,
    recipe: Recipe,
    seed: int,
    options: QualityOptions,
    report: Callable[[int, str], None],
) -> Attempt:
    engine, energy = platform.context.engine, Energy()
    report(seed, f"{recipe.name}: starting")

    def enough(run_id: str) -> bool:
        evaluated = _evaluated(engine, run_id)
        if evaluated:
            last = evaluated[-1]
            report(seed, f"{recipe.name}: epoch {last.epoch}, FID {last.measures['fid']:.2f}")
        return _reached(evaluated, options.fid) is not None

    try:
        run = platform.finish(recipe.seeded(seed), enough)
    except BenchmarkError as error:
        return Attempt(seed, str(error))
    return replace(_read(engine, run, seed, options.fid), joules=energy.joules())


def _read(engine: Engine, run: Run, seed: int, fid: float) -> Attempt:
    evaluated = _evaluated(engine, run.id)
    if not evaluated:
        return Attempt(seed, "ended without an evaluation")
    found = _reached(evaluated, fid)
    shown = found or min(evaluated, key=lambda each: each.measures["fid"])
    prepared = sum(each.preparation_seconds or 0 for each in evaluated)
    wall = (shown.made_at - run.queued_at).total_seconds() - prepared
    return Attempt(
        seed,
        fid=shown.measures["fid"],
        epoch=shown.epoch,
        training_seconds=shown.training_seconds if found else None,
        wall_seconds=wall if found else None,
        images_per_second=run.images_per_second,
    )


def _evaluated(engine: Engine, run_id: str) -> list[Quality]:
    """The evaluations that found a distance: of images that are not finite there is none."""
    found = queries.qualities(engine, run_id)
    return [each for each in found if isfinite(each.measures.get("fid", nan))]


def _reached(evaluated: Sequence[Quality], fid: float) -> Quality | None:
    """The first evaluation that found at most this distance."""
    return next((each for each in evaluated if each.measures["fid"] <= fid), None)


def describe(attempt: Attempt) -> str:
    """The outcome of an attempt in words."""
    if attempt.problem:
        return attempt.problem
    if attempt.training_seconds is None:
        return f"not reached; best FID {attempt.fid:.2f} after epoch {attempt.epoch}"
    return (
        f"FID {attempt.fid:.2f} after {attempt.training_seconds:.0f} s of training, epoch"
        f" {attempt.epoch}"
    )


def _document(result: Result) -> dict[str, Any]:
    attempts = result.attempts
    reached = [
        attempt.training_seconds for attempt in attempts if attempt.training_seconds is not None
    ]
    return {
        "recipe": result.recipe.name,
        "settings": result.recipe.config.model_dump(exclude={"seed"}),
        "reached": len(reached),
        "training_seconds": _spread(reached),
        "wall_seconds": _spread(_present(attempts, "wall_seconds")),
        "joules": _spread(_present(attempts, "joules")),
        "attempts": [vars(attempt) for attempt in attempts],
    }


def _present(attempts: Sequence[Attempt], name: str) -> list[float]:
    return [value for attempt in attempts if (value := getattr(attempt, name)) is not None]


def _spread(values: Sequence[float]) -> Mapping[str, Any] | None:
    if not values:
        return None
    return {
        "median": median(values),
        "min": min(values),
        "max": max(values),
        "interval": interval(values),
    }
