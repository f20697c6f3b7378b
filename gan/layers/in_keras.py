"""A layer of ours as one of Keras's that computes the same."""

from __future__ import annotations

from typing import Any

import keras


def in_keras(layer: keras.Layer) -> tuple[Any, list[Any]]:
    """A fresh layer in float32, Keras's own where there is one, and the weights for it.

    A layer that computes as a class of Keras does with the same weights inherits from that; others
    have a method `keras_layer`. What Keras has nothing like is of the same class as before.
    """
    if hasattr(layer, "keras_layer"):
        made: tuple[Any, list[Any]] = layer.keras_layer()
        return made
    kind: Any = next(one for one in type(layer).__mro__ if one.__module__.startswith("keras."))
    if kind is keras.layers.Layer:
        kind = type(layer)
    config = layer.get_config() | {"dtype": "float32"}
    if "synchronized" in config:
        config["synchronized"] = False
    return kind.from_config(config), layer.weights
