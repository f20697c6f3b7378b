"""A checkpoint of one run as the first of another: all of its state, under other settings. Free of
TensorFlow."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ganboard.gan.checkpoint import reader, snapshots, store
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.config import RunConfig
from ganboard.gan.events import Saved
from ganboard.gan.progress import Progress
from ganboard.gan.settings.declarations import declared

# with another value of one of these, the step of a checkpoint means something else or its arrays
# do not fit
FIXED_GROUPS = frozenset({"Data", "Model"})
FIXED = frozenset({"model", "dataset", "batch_size", "optimizer", "seed", "start_from"})
ATTEMPT = 0  # of what a fork begins with: its own attempts count from 1


def fixed(parent: RunConfig, child: RunConfig) -> list[str]:
    """The settings of `child` that a fork of `parent` cannot change, but does."""
    before, after = parent.model_dump(), child.model_dump()
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return sorted(name for name in changed if _is_fixed(name, before, after, type(parent)))


def _is_fixed(
    name: str, before: Mapping[str, Any], after: Mapping[str, Any], kind: type[RunConfig]
) -> bool:
    if name in FIXED or name not in before or name not in after:
        return True
    if name == "ema":  # an average is an array more
        return bool(before[name]) != bool(after[name])
    if name == "precision":  # and so is the loss scale of float16
        return "mixed_float16" in (before[name], after[name])
    if name == "beta_1" and before["optimizer"] == "sgd":  # and SGD's momentum
        return bool(before[name]) != bool(after[name])
    return declared(kind.model_fields[name]).group in FIXED_GROUPS


def steps(directory: Path) -> dict[int, int]:
    """The steps of the complete checkpoints in `directory`, ascending, with their finished
    epochs."""
    return {
        one.step: one.epoch for one in sorted(reader.found(directory), key=lambda one: one.step)
    }


def adopt(
    source: Path, target: Path, step: int, parent: RunConfig, child: RunConfig, examples: int
) -> Saved:
    """Write the checkpoint of `step` of the run in `source` as one of the run in `target` (both run
    directories), with the snapshots until then. `examples` are those of the data set.

    Raises CheckpointError where it cannot be read, is not of `parent`, or cannot be written.
    """
    arrays = dict(reader.part(source / "checkpoints", step, ""))
    if store.digest_of(source / "checkpoints", step) != store.config_hash(parent, examples):
        raise CheckpointError(
            f"The checkpoint of step {step} is of other settings or data than the run has now."
            " Clone the run to train it again."
        )
    values = {name: arrays.pop(name) for name in list(arrays) if name.startswith(store.PROGRESS)}
    progress = Progress.of(
        {name.removeprefix(store.PROGRESS): value for name, value in values.items()}
    )
    saved = store.save(
        target / "checkpoints",
        arrays,
        progress,
        digest=store.config_hash(child, examples),
        attempt=ATTEMPT,
    )
    for epoch in snapshots.epochs(source / snapshots.FOLDER):
        if epoch <= progress.epoch:
            name = f"epoch-{epoch}.npz"
            (target / snapshots.FOLDER).mkdir(exist_ok=True)
            shutil.copyfile(source / snapshots.FOLDER / name, target / snapshots.FOLDER / name)
    return saved
