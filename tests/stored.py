"""Checkpoints on disk without a training: fresh networks, saved as the trainer saves them."""

from __future__ import annotations

from pathlib import Path

from ganboard.gan.checkpoint import store as checkpoints
from ganboard.gan.config import RunConfig
from ganboard.gan.progress import Progress
from ganboard.gan.training.step import Networks, networks


def store(
    config: RunConfig,
    directory: Path,
    *,
    step: int = 12,
    epoch: int = 3,
    attempt: int = 1,
    keep: int = 9,
) -> Networks:
    """Save fresh networks of `config` as the checkpoint of `step`; with `ema` the average differs
    from the generator."""
    nets = networks(config)
    if nets.average is not None:
        for variable in nets.average.variables:
            variable.assign(variable * 0.5)
    digest = checkpoints.config_hash(config, 128)
    checkpoints.save(
        directory, nets.arrays(), Progress(step, epoch), digest=digest, attempt=attempt
    )
    checkpoints.prune(directory, keep)
    return nets
