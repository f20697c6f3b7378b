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
SHAPE = [8, 5, 5, 16]
batch = np.random.default_rng(0).normal(3, 2, SHAPE).astype(np.float32)
weight = np.random.default_rng(1).normal(size=SHAPE).astype(np.float32)
exchanges = 0
context = type(strategy.extended)
reduce = context.batch_reduce_to

def counted(self, *args, **kwargs):
    global exchanges
    exchanges += 1
    return reduce(self, *args, **kwargs)

context.batch_reduce_to = counted


def gradients(layer, x, w, penalty):
    # outputs, the gradient of their sum weighted by `w`, and that of a penalty on it
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cast(layer(x, training=True), tf.float32)
            loss = tf.reduce_sum(y * w)
        slope = tape.gradient(loss, x)
        squares = tf.reduce_sum(tf.square(slope) * tf.abs(w))
    return y, slope, outer.gradient(squares, x) if penalty else tf.zeros_like(x)


def run(kind, penalty=True, **options):
    global exchanges
    with strategy.scope():
        layer = kind(synchronized=True, **options)
        layer.build([None, *SHAPE[1:]])

    @tf.function
    def step(batch, weight):
        def replica():
            row = tf.distribute.get_replica_context().replica_id_in_sync_group * 4
            x, w = tf.ensure_shape(batch[row : row + 4], [4, *SHAPE[1:]]), weight[row : row + 4]
            return gradients(layer, x, w, penalty)
        return strategy.run(replica)

    before = exchanges
    found = step(tf.constant(batch), tf.constant(weight))
    def join(value):
        return np.concatenate([p.numpy() for p in strategy.experimental_local_results(value)])

    return *map(join, found), layer.moving_variance.numpy(), exchanges - before


def whole(**options):
    layer = BatchNormalization(synchronized=True, **options)
    found = gradients(layer, tf.constant(batch), weight, True)
    return *(part.numpy() for part in found), layer.moving_variance.numpy()


def error(found, wanted):
    # the largest error of each part, as a share of the part's largest value
    pairs = zip(found[:4], wanted[:4], strict=True)
    return [float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs]


half = {"dtype": "mixed_bfloat16"}
theirs, ours = run(keras.layers.BatchNormalization), run(BatchNormalization)
found = {
    "keras": error(ours, theirs),
    "whole": error(ours, whole()),
    "half": error(run(BatchNormalization, **half), whole(**half)),
    "exchanges": [
        run(kind, penalty=False)[4]
        for kind in (BatchNormalization, keras.layers.BatchNormalization)
    ],
}
batch = np.random.default_rng(2).normal(1000, 0.1, SHAPE).astype(np.float32)
spread = batch.astype(np.float64).var((0, 1, 2))
momentum = BatchNormalization().momentum
small = (run(BatchNormalization)[3] - momentum) / (1 - momentum)
found["small beside a large mean"] = float(np.abs(small / spread - 1).max())
print(json.dumps(found))
"""


@pytest.mark.thorough
def test_statistics_and_gradients_are_those_of_keras_and_of_the_whole_batch() -> None:
    found = json.loads(python(CODE).splitlines()[-1])
    # Keras's rounds more: it takes the difference of sums of squares
    assert max(found["keras"]) < 1e-5
    assert max(found["whole"]) < 1e-5
    assert max(found["half"]) < 0.02
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
