"""Batch norm over replicas computes what Keras's computes, with fewer exchanges; in a process of
its own."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.layers.normalization import BatchNormalization
from tests.unit.gan.devices.test_runtime import python

CODE = """
import json
import keras
import numpy as np
import tensorflow as tf
from ganboard.gan.distributed import strategy as distribution
from ganboard.gan.devices import runtime
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.layers.normalization import BatchNormalization

config = Config(strategy="mirrored", replicas=2)
runtime.prepare(config)
strategy = distribution.strategy(config)
batch = np.random.default_rng(0).normal(3, 2, [8, 5, 5, 6]).astype(np.float32)
weight = np.random.default_rng(1).normal(size=[8, 5, 5, 6]).astype(np.float32)
exchanges = 0
context = type(strategy.extended)
reduce = context.batch_reduce_to

def counted(self, *args, **kwargs):
    global exchanges
    exchanges += 1
    return reduce(self, *args, **kwargs)

context.batch_reduce_to = counted


def run(kind):
    global exchanges
    with strategy.scope():
        layer = kind(synchronized=True)
        layer.build([None, 5, 5, 6])

    @tf.function
    def step(batch, weight):
        def replica():
            row = tf.distribute.get_replica_context().replica_id_in_sync_group * 4
            x, w = tf.ensure_shape(batch[row : row + 4], [4, 5, 5, 6]), weight[row : row + 4]
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = layer(x, training=True)
                loss = tf.reduce_sum(y * w)
            return y, tape.gradient(loss, x)
        return strategy.run(replica)

    before = exchanges
    y, gradient = step(tf.constant(batch), tf.constant(weight))
    def join(value):
        return np.concatenate([p.numpy() for p in strategy.experimental_local_results(value)])

    return join(y), join(gradient), layer.moving_variance.numpy(), exchanges - before


theirs, ours = run(keras.layers.BatchNormalization), run(BatchNormalization)
x = tf.constant(batch)
with tf.GradientTape() as tape:
    tape.watch(x)
    alone = BatchNormalization(synchronized=True)
    y = alone(x, training=True)
    loss = tf.reduce_sum(y * weight)
whole = y.numpy(), tape.gradient(loss, x).numpy(), alone.moving_variance.numpy()
batch = np.random.default_rng(2).normal(1000, 0.1, [8, 5, 5, 6]).astype(np.float32)
spread = batch.astype(np.float64).var((0, 1, 2))
momentum = alone.momentum
small = (run(BatchNormalization)[2] - momentum) / (1 - momentum)
print(json.dumps({
    "keras": max(float(np.abs(a - b).max()) for a, b in zip(ours[:3], theirs[:3])),
    "whole": max(float(np.abs(a - b).max()) for a, b in zip(ours[:3], whole)),
    "small beside a large mean": float(np.abs(small / spread - 1).max()),
    "exchanges": [ours[3], theirs[3]],
}))
"""


@pytest.mark.thorough
def test_statistics_and_gradients_are_those_of_keras_and_of_the_whole_batch() -> None:
    found = json.loads(python(CODE).splitlines()[-1])
    assert found["keras"] < 1e-5  # which rounds more: it takes the difference of sums of squares
    assert found["whole"] < 1e-5
    assert found["small beside a large mean"] < 0.01
    assert found["exchanges"] == [2, 5]  # ours has one forward and one backward


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("shape", [(8, 5), (8, 3, 3, 5), (4, 3, 2, 3, 5), (1, 1, 1, 5)])
@pytest.mark.parametrize("options", [{}, {"scale": False}, {"center": False}], ids=str)
def test_one_operation_gives_what_keras_composes(
    policy: str, shape: tuple[int, ...], options: dict[str, bool]
) -> None:
    random = np.random.default_rng(0)
    x, pull = (tf.constant(random.normal(3, 2, shape), tf.float32) for _ in range(2))
    found = []
    for kind in (keras.layers.BatchNormalization, BatchNormalization):
        layer = kind(dtype=policy, **options)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cast(layer(x, training=True), tf.float32)
        weights = [variable.value for variable in layer.trainable_variables]
        gradients = tape.gradient(y, [x, *weights], output_gradients=pull)
        found.append([y, *gradients, *(v.value for v in layer.non_trainable_variables)])
    tolerance = 1e-5 if policy == "float32" else 1e-2
    for ours, wanted in zip(*reversed(found), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance)
