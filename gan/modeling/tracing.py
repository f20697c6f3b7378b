"""What a network does in training, learnt by tracing it once: the random numbers that its layers
ask for, its output's shape, and whether it does what no run may do."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.config import ConfigError
from ganboard.gan.layers import keyed
from ganboard.gan.layers.keyed import Request
from ganboard.gan.layers.substitutes import stateful, unrepeatable
from ganboard.gan.modeling.gradients import Tensors, call

_ROWS = 2  # enough to see whether examples mix
_STATE = ("AssignVariableOp", "ReadVariableOp", "VarHandleOp")
_RANDOM = re.compile("Random|TruncatedNormal|Multinomial|Rng")


class Trace:
    """One network in training, on inputs [2, ...] of `shapes` and `kinds` per example; the first
    of them is of floats. Raises ConfigError where a layer draws random numbers or has a state that
    nobody knows of."""

    def __init__(
        self, net: keras.Model, shapes: Sequence[tuple[int, ...]], kinds: Sequence[tf.DType]
    ) -> None:
        self._variables = net.trainable_variables, net.non_trainable_variables
        self._shapes = shapes
        self._kinds = kinds
        requests: list[Request] = []

        def run(
            weights: Tensors, statistics: Tensors, inputs: Tensors
        ) -> tuple[tf.Tensor, tf.Tensor]:
            with tf.GradientTape() as tape, keyed.recording() as asked:
                tape.watch(inputs[0])
                output, _ = call(net, weights, statistics, inputs)
                first = output[0]
            requests.extend(asked)
            return output, tape.gradient(first, inputs[0], unconnected_gradients="zero")

        specs = [
            [tf.TensorSpec(v.shape, v.dtype) for v in variables] for variables in self._variables
        ]
        inputs = [
            tf.TensorSpec([_ROWS, *shape], kind) for shape, kind in zip(shapes, kinds, strict=True)
        ]
        graph = tf.function(run, autograph=False)
        self._run = graph.get_concrete_function(*specs, inputs)
        _check(net, self._run)
        self.requests = tuple(requests)  # in the order in which a call asks
        self.output: tuple[int, ...] = tuple(self._run.output_shapes[0][1:])  # of one example

    def separate(self) -> bool:
        """Whether each output is a function of its own example alone, tried with random weights:
        those that a network begins with may be zero."""
        normal = np.random.default_rng(0).standard_normal
        values = [
            [
                tf.constant(normal(v.shape) / math.sqrt(max(1, math.prod(v.shape[:-1]))), v.dtype)
                for v in variables
            ]
            for variables in self._variables
        ]
        inputs = [
            tf.constant(normal([_ROWS, *shape]), kind)
            if kind.is_floating
            else tf.zeros([_ROWS], kind)
            for shape, kind in zip(self._shapes, self._kinds, strict=True)
        ]
        _, gradient = self._run(*values, inputs)
        return not np.any(gradient[1].numpy())


def _check(net: keras.Model, traced: tf.types.experimental.ConcreteFunction) -> None:
    definition = traced.graph.as_graph_def()
    operations = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    for operation in operations:
        if _RANDOM.search(operation.op):
            raise ConfigError(unrepeatable(_layer(net, operation.name)))
    for operation in operations:
        if operation.op in _STATE:
            raise ConfigError(
                stateful(_layer(net, operation.name), "a variable that Keras does not know")
            )


def _layer(net: keras.Model, operation: str) -> keras.Layer:
    """The innermost layer whose operation this is; operations are named after their layers, with
    numbers where a name repeats."""
    layers = {layer.name: layer for layer in net._flatten_layers()}
    for part in reversed(operation.split("/")):
        if found := layers.get(part) or layers.get(re.sub(r"_\d+$", "", part)):
            return found
    return net
