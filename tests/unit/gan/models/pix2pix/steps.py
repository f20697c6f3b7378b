"""Small flows, and training steps of pix2pix on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.data import load
from ganboard.gan.modeling.gradients import Shares
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case
from ganboard.gan.training.step import Stepper, networks

SMALL = {
    "model": "pix2pix", "dataset": "flow", "images_path": "street", "geometry": "64x64", "limit": 4,
    "batch_size": 2, "epochs": 1, "grid_size": 2, "keep_checkpoints": 1, "snapshots": 1,
}  # fmt: skip
FLOWS = (
    Case(Obstacle("circle", 6), 80),
    Case(Obstacle("rectangle", 6), 60),
    Case(Obstacle("circle", 8), 100, held_out=True),
)


def config(**changes: Any) -> RunConfig:
    return parse({**SMALL, **changes})


def stepper(home: Path, **changes: Any) -> Stepper:
    settings = config(
        **{
            "optimizer": "sgd",
            "beta_1": 0,
            "g_learning_rate": 1e-3,
            "d_learning_rate": 1e-3,
            **changes,
        }
    )
    return Stepper(settings, tf.distribute.get_strategy(), networks(settings), load(settings, home))


def gradients(made: Stepper, draws: Any) -> Shares:
    """Losses and gradients of the first phase, unscaled."""
    nets, recipe = made.nets, made.recipe
    scales, phase = [tf.ones([])] * 2, recipe.phases[0]
    state = made.replica.state()
    return recipe.shares(nets.generator, nets.discriminator, state, draws, scales, phase)
