"""The random numbers and examples of a micro-batch of 3DGAN."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from ganboard.gan.modeling.gradients import Tensors


class Draws(NamedTuple):
    """What a micro-batch is made of."""

    image: tf.Tensor  # [rows, x, y, z, 1]: real cells to the power of 0.85
    labels: tf.Tensor  # [rows, 3]: energy in 100 GeV, angle in radians, sum of cells
    noise: tf.Tensor  # [rows, width]
    flips: tf.Tensor  # [rows] uniform
    masks: Tensors
