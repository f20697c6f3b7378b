"""Frames of any size through a network that sees squares: split, group, assign to replicas,
execute, merge (`gan.models.pix2pix.prediction.tiles`).

One tile after another is group=1, all together group=0 on one replica, and with several replicas
each takes its share of the groups.
"""

from __future__ import annotations

import math
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.generation import restore as stored
from ganboard.gan.models.pix2pix import networks
from ganboard.gan.models.pix2pix.config import CHANNELS, Config
from ganboard.gan.models.pix2pix.flow.lattice import Field
from ganboard.gan.models.pix2pix.prediction.tiles import (
    Group,
    assign,
    group,
    inner,
    merge,
    split,
    ungroup,
    whole,
)


class Times(NamedTuple):
    """Seconds of one frame."""

    split: float  # into tiles and groups, on the host
    transfer: float  # to the devices and back
    execute: float
    merge: float


def restore(
    config: Config,
    directory: Path,
    step: int,
    strategy: tf.distribute.Strategy,
    frame: tuple[int, int] | None = None,
    halo: int = 0,
) -> keras.Model:
    """The generator as it was after `step` (with `ema` the average), on every replica; for a
    `frame` of (H, W) in one piece where it can take that. Raises CheckpointError in one
    sentence."""
    with strategy.scope():
        generator = stored.restore(config, directory, step)
        if frame is None or not whole(config, frame, halo):
            return generator
        wide = networks.generator(config, config.inputs, CHANNELS, frame)
        wide.set_weights(generator.get_weights())
        return wide


class Tiled:
    """G on whole frames; `times` has an entry for each call, the first of which compiles. Made for
    the strategy that G was made under.

    `group` tiles go through G together, 0 for as many as there are to a replica. A last group that
    is not full is filled with tiles that are computed twice, so that all groups have one shape.
    Moving statistics and no dropout: how tiles are grouped changes no result.
    """

    def __init__(
        self,
        generator: keras.Model,
        strategy: tf.distribute.Strategy,
        *,
        halo: int = 0,
        group: int = 0,
        xla: bool = False,
    ) -> None:
        self.strategy, self.halo, self.group = strategy, halo, group
        self.sides: tuple[int, int] = generator.inputs[0].shape[1:3]
        self.times: list[Times] = []
        keeps = [None] * (len(generator.inputs) - 1)

        def call(tiles: tf.Tensor, values: list[tf.Tensor]) -> tf.Tensor:
            with keras.StatelessScope(
                state_mapping=list(zip(generator.variables, values, strict=True))
            ):
                return generator([tiles, *keeps], training=False)

        # XLA compiles what one replica does, from its own weights: it refuses variables of another
        # device. No clock in there: stateful operations of replicas wait for each other
        made = tf.function(call, jit_compile=True, autograph=False) if xla else call

        def replica(tiles: tf.Tensor) -> tf.Tensor:
            return made(tiles, [variable.value for variable in generator.variables])

        self._execute = tf.function(lambda tiles: strategy.run(replica, (tiles,)), autograph=False)

    @property
    def compiled(self) -> int:
        """How often the graph was made: once for each shape of a group."""
        count: int = self._execute.experimental_get_tracing_count()
        return count

    def size(self, tiles: int) -> int:
        """Tiles that go through G together where a frame has so many."""
        share: int = math.ceil(tiles / self.strategy.num_replicas_in_sync)
        return min(self.group or share, share)

    def __call__(self, frame: Field) -> Field:
        """Frames and obstacle [ny, nx, inputs] -> the next frame [ny, nx, 3]. Within a halo tiles
        blend. Raises TilingError."""
        began = perf_counter()
        tile = self.sides
        if self.halo or frame.shape[:2] != tile:
            tile = (inner(tile[0], frame.shape[:2], self.halo),) * 2
        tiles = split(frame, tile, self.halo)
        replicas = self.strategy.num_replicas_in_sync
        size = self.size(len(tiles))
        rounds = math.ceil(len(tiles) / (size * replicas))
        dealt = assign(
            group(np.resize(tiles, (rounds * size * replicas, *tiles.shape[1:])), size), replicas
        )
        parted, moving, executing, made = perf_counter(), 0.0, 0.0, []
        for turn in zip(*dealt, strict=True):
            start = perf_counter()
            given = self._given(turn)
            tf.test.experimental.sync_devices()
            there = perf_counter()
            results = self._execute(given)
            tf.test.experimental.sync_devices()
            done = perf_counter()
            local = self.strategy.experimental_local_results(results)
            made += [
                Group(own.first, result.numpy()) for own, result in zip(turn, local, strict=True)
            ]
            moving, executing = (
                moving + there - start + perf_counter() - done,
                executing + done - there,
            )
        last = perf_counter()
        merged = merge(
            ungroup(made)[: len(tiles)],
            frame.shape[:2],
            tile,
            self.halo,
            blend=min(self.halo, min(tile) // 2),
        )
        self.times.append(Times(parted - began, moving, executing, perf_counter() - last))
        return merged

    def _given(self, turn: tuple[Group, ...]) -> Any:
        """A group on the device of each replica."""
        devices = self.strategy.extended.worker_devices

        def of(context: tf.distribute.InputContext) -> tf.Tensor:
            number = context.replica_id_in_sync_group
            with tf.device(devices[number]):
                return tf.identity(turn[number].tiles)

        return self.strategy.experimental_distribute_values_from_function(of)
