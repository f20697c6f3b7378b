"""Which generator draws the random numbers of training steps: noise, dropout, penalties, flips and
windows.

What is drawn outside of steps stays with Philox (`gan.rng.philox`, `gan.rng.tf_philox`) whatever
the setting: initial weights, order of the data, fixed latents of grids, latents of evaluations and
of the playground. So runs that differ in `rng` alone begin with equal weights, and their grids and
evaluations are of equal latents. Loss surfaces draw as the steps of their run do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.rng import tf_hash, tf_philox


class Streams(Protocol):
    """What `gan.rng.tf_philox` and `gan.rng.tf_hash` both are: see there."""

    def normal(
        self, seed: int, purpose: int, draw: tf.Tensor, first_row: tf.Tensor, rows: int, width: int
    ) -> tf.Tensor: ...

    def uniform(
        self, seed: int, purpose: int, draw: tf.Tensor, first_row: tf.Tensor, rows: int, width: int
    ) -> tf.Tensor: ...

    def keep(
        self,
        seed: int,
        mask: int,
        rate: float,
        draw: tf.Tensor,
        first_row: tf.Tensor,
        rows: int,
        width: int,
    ) -> tf.Tensor: ...

    def masks(
        self,
        seed: int,
        rate: float,
        draw: tf.Tensor,
        first_row: tf.Tensor,
        rows: int,
        shapes: Sequence[tuple[int, ...]],
    ) -> list[tf.Tensor]: ...


def of(config: RunConfig) -> Streams:
    """The generator that `config` names."""
    return cast(Streams, {"philox": tf_philox, "hash": tf_hash}[config.rng])
