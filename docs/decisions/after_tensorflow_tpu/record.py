"""Takes steps of ganboard's TensorFlow step and writes everything about them; `compare.py` starts
it. All modes are given the draws of plain TensorFlow; those of the mode itself are kept beside.

    python docs/decisions/after_tensorflow_tpu/record.py PRECISION STEPS plain|xla OUT.npz
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf

from ganboard.gan import data
from ganboard.gan.config import parse
from ganboard.gan.devices import runtime
from ganboard.gan.modeling import recipe
from ganboard.gan.rng import philox
from ganboard.gan.training.networks import networks
from ganboard.gan.training.replica import Replica


def main(precision: str, steps: str, mode: str, output: str) -> None:
    runtime.accelerated = lambda: True  # direct convolutions and no clock, as on an accelerator
    config = parse({"dataset": "digits", "precision": precision})
    model = recipe.make(config)
    nets = networks(config, model)
    replica = Replica(config, tf.distribute.get_strategy(), nets, model)
    phase = model.phases[0]
    compiled = mode == "xla"
    own_draws = model.draws

    def update_with(draws: Any, rows: Any, step: tf.Tensor, rates: tf.Tensor) -> Any:
        model.draws = lambda *_: draws  # while it is traced
        return replica.update(0, rows, step, rates, tf.zeros([], tf.float64))

    gradients = tf.function(replica.shares(phase), jit_compile=compiled, autograph=False)
    update = tf.function(update_with, jit_compile=compiled, autograph=False)
    drawn_here = tf.function(partial(own_draws, phase), jit_compile=compiled, autograph=False)
    with tempfile.TemporaryDirectory() as directory:
        images = data.load(config, Path(directory)).first(None)
    order = philox.order(config.seed, 1, len(images))

    found: dict[str, Any] = {}

    def keep(name: str, tensors: Any) -> None:
        for i, tensor in enumerate(tensors):
            found[f"{name}/{i}"] = np.asarray(tensor)

    def keep_networks(at: int) -> None:
        for name, net in (("g", nets.generator), ("d", nets.discriminator)):
            keep(f"{at}/{name}_weights", [v.numpy() for v in net.trainable_variables])
            keep(f"{at}/{name}_statistics", [v.numpy() for v in net.non_trainable_variables])

    keep_networks(0)
    rates = tf.constant([config.g_learning_rate, config.d_learning_rate])
    for step in range(int(steps)):
        batch = order[step * config.batch_size :][: config.batch_size]
        rows = [tf.constant(images[batch])]
        position = (rows, tf.constant(step * 16, tf.int64), tf.constant(0))
        draws, drawn = own_draws(phase, *position), drawn_here(*position)
        shares = gradients(replica.state(), draws, [tf.ones([])] * 2)
        report = update(draws, rows, tf.constant(step, tf.int64), rates)
        after = step + 1
        for name, made in (("draws", draws), ("drawn", drawn)):
            masks = [*made.real_masks, *made.fake_masks]
            keep(f"{after}/{name}", [made.images, made.noise, *masks])
        keep(f"{after}/losses", [report.metrics])
        keep(f"{after}/g_gradients", shares.g_gradients)
        keep(f"{after}/d_gradients", shares.d_gradients)
        keep_networks(after)
    np.savez(output, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
