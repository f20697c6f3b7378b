"""Networks of `gan.architecture`'s tables from Keras's own layers, with none of `gan`'s ways to
compute them faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras import layers

from ganboard.gan import architecture as table

# the Keras layers of a kind that only one model has, in their order; None of any other
Own = Callable[[table.Layer], list[Any] | None]


def apply(described: Sequence[table.Layer], x: Any, own: Own = lambda layer: None) -> Any:
    """What the layers make of `x`."""
    outputs: dict[str, Any] = {}
    for layer in described:
        for made in own(layer) or [_made(layer, outputs)]:
            x = made(x)
        outputs[layer.name] = x
    return x


def _made(layer: table.Layer, outputs: dict[str, Any]) -> Any:
    match layer:
        case table.Dense():
            return layers.Dense(layer.filters, use_bias=layer.bias)
        case table.Weighted():
            transposed = isinstance(layer, table.ConvTranspose)
            flat = layers.Conv2DTranspose if transposed else layers.Conv2D
            kind = flat if len(layer.kernel) == 2 else layers.Conv3D
            size = layer.filters, layer.kernel, layer.strides, layer.padding
            return kind(*size, use_bias=layer.bias)
        case table.Norm():
            return layers.BatchNormalization(epsilon=layer.epsilon)
        case table.Leaky():
            return layers.LeakyReLU()
        case table.Relu():
            return layers.ReLU()
        case table.Dropout():
            return layers.Dropout(layer.rate)
        case table.Join():
            return lambda x: layers.Concatenate()([x, outputs[layer.other]])
        case table.Pad():
            two = len(layer.sides) == 2
            return (layers.ZeroPadding2D if two else layers.ZeroPadding3D)(layer.sides)
        case table.Output():
            return layers.Activation(layer.function, dtype="float32")
        case table.Reshape():
            return layers.Reshape(layer.shape)
        case table.Flatten():
            return layers.Flatten()
        case table.Pool():
            return layers.AveragePooling3D(2)
        case _:
            raise TypeError(f"{layer} is of no known kind")
