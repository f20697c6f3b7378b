"""The layers of a network: in words, to be laid beside a printed table, and as the rows of
`model.summary()`."""

from __future__ import annotations

from math import prod

import keras

# ours compute what Keras's do
KINDS = {"SpectralConv2DTranspose": "Conv2DTranspose", "KeyedDropout": "Dropout"}


def describe(network: keras.Model) -> list[str]:
    """Kind and output shape per example of every layer, in order: "Conv2DTranspose 7x7x128"; inputs
    are left out."""
    return [
        f"{KINDS.get(kind := type(layer).__name__, kind)} {_shape(layer.output)}"
        for layer in _layers(network)
    ]


def table(network: keras.Model) -> list[list[str | int]]:
    """Name, kind, output shape per example, parameters and trainable parameters of every layer, in
    order; inputs are left out."""
    return [
        [
            layer.name,
            type(layer).__name__,
            ", ".join(map(_shape, keras.tree.flatten(layer.output))),
            _count(layer.weights),
            _count(layer.trainable_weights),
        ]
        for layer in _layers(network)
    ]


def _layers(network: keras.Model) -> list[keras.Layer]:
    return [layer for layer in network.layers if not isinstance(layer, keras.layers.InputLayer)]


def _shape(tensor: keras.KerasTensor) -> str:
    return "x".join(map(str, tensor.shape[1:]))


def _count(weights: list[keras.Variable]) -> int:
    return sum(prod(weight.shape) for weight in weights)
