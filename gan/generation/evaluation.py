"""Evaluates stored checkpoints of a run as its training would have: by the evaluator of its recipe,
with the generator that the checkpoint holds.

Snapshots of the weights (`gan.checkpoint.snapshots`) are not evaluated: they have 16 bits and
neither moving statistics nor the averaged generator, so their numbers would be others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ganboard.gan import data
from ganboard.gan.checkpoint import reader
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.config import ConfigError, RunConfig, plan
from ganboard.gan.devices import runtime
from ganboard.gan.events import Found, Quality

OnProgress = Callable[[str, float], None]  # phase, and the share of all that is done


@dataclass(frozen=True)
class Evaluated:
    """An evaluation, and what training would report with it."""

    quality: Quality
    facts: dict[str, Any]


def evaluate(
    config: RunConfig,
    choose: Callable[[], Sequence[Found]],
    *,
    examples: int | None,
    directory: Path,
    data_dir: Path,
    cache_dir: Path,
    on_progress: OnProgress,
) -> Iterator[Evaluated]:
    """Evaluate the checkpoints in `directory` that `choose` names, each of a finished epoch, in its
    order. It is asked once all is prepared, since a run that trains keeps only the latest; those
    that it deletes meanwhile are left out, but for the last.

    `examples` is the number that the run was trained on. Raises ConfigError when the data have
    another, and as evaluators do; DatasetError, and CheckpointError when one cannot be read.
    """
    on_progress("loading", 0.0)
    runtime.prepare(config.model_copy(update={"replicas": 1, "strategy": "auto"}))
    from ganboard.gan.generation import restore
    from ganboard.gan.modeling import recipe

    # all of it: an evaluation is the same for every `limit`
    whole = config.model_copy(update={"limit": None})
    dataset = data.load(whole, data_dir, lambda share, doing, left: on_progress(doing, 0.0))
    now = plan(config, len(dataset.first(config.limit))).examples
    if examples not in (None, now):
        raise ConfigError(
            f"The data of this run have changed: it was trained on {examples:,} examples and there"
            f" are {now:,}. Restore the data set to evaluate it."
        )
    on_progress("preparing", 0.0)
    generator = restore.untrained(config)
    began = time.monotonic()
    evaluator = recipe.make(restore.alone(config)).evaluator(
        dataset, data_dir, cache_dir, lambda share: on_progress("preparing", 0.0)
    )
    preparation = time.monotonic() - began
    checkpoints = choose()
    for number, checkpoint in enumerate(checkpoints):
        on_progress("evaluating", (1 + number) / (1 + len(checkpoints)))
        try:
            restore.load(generator, config, directory, checkpoint.step)
            progress = reader.part(directory, checkpoint.step, "progress/")
        except CheckpointError:
            stored = {step for step, _, _ in reader.complete(directory)}
            if checkpoint.step in stored or checkpoint is checkpoints[-1]:
                raise
            continue
        began = time.monotonic()
        measures, histogram = evaluator(generator)
        quality = Quality(
            epoch=checkpoint.epoch,
            seconds=time.monotonic() - began,
            training_seconds=float(progress["progress/training_seconds"]),
            measures=measures,
            histogram=histogram,
            preparation_seconds=preparation,
        )
        preparation = 0.0  # once
        yield Evaluated(quality, dict(evaluator.facts))
