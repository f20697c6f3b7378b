"""Makes the Keras layers of one network: with the run's precision, each with a seed of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import keras

from ganboard.gan.architecture import (
    ConvTranspose,
    Crop,
    Dense,
    Dropout,
    Flatten,
    Join,
    Layer,
    Leaky,
    Norm,
    Output,
    Pad,
    Pool,
    Relu,
    Reshape,
    Shape,
    Weighted,
)
from ganboard.gan.config import RunConfig
from ganboard.gan.layers.masked_dropout import MaskedDropout
from ganboard.gan.layers.normalization import BatchNormalization, synchronized
from ganboard.gan.layers.padding import EdgePadding2D
from ganboard.gan.layers.patches import PatchConv2D, PatchConv2DTranspose
from ganboard.gan.layers.spectral import SpectralConv2D, SpectralConv2DTranspose
from ganboard.gan.layers.subpixel import SubpixelConv2D, SubpixelConv2DTranspose
from ganboard.gan.rng import philox

_SLOPE = 0.3  # of LeakyReLU
_INITIALIZERS = {
    "glorot_normal": keras.initializers.GlorotNormal,
    "glorot_uniform": keras.initializers.GlorotUniform,
    "he_uniform": keras.initializers.HeUniform,
    "normal": partial(keras.initializers.RandomNormal, 0, 0.02),
}

# with square kernels and padding "same"
_FORMS: dict[str, tuple[Any, Any]] = {
    "spectral": (SpectralConv2D, SpectralConv2DTranspose),
    "subpixel": (SubpixelConv2D, SubpixelConv2DTranspose),
    "patches": (PatchConv2D, PatchConv2DTranspose),
}


def mask_inputs(shapes: Sequence[Shape]) -> list[Any]:
    """The optional inputs of a network for its dropout masks."""
    return [
        keras.Input(shape, dtype="bool", optional=True, name=f"keep_{i}")
        for i, shape in enumerate(shapes)
    ]


class Factory:
    """`net` is 0 for a generator, 1 for a discriminator."""

    def __init__(self, config: RunConfig, net: int) -> None:
        self.config = config
        self.net = net
        self.policy = keras.DTypePolicy(config.precision)

    def sequence(self, layers: Sequence[Layer]) -> list[Any]:
        """The Keras layers of a network without branches."""
        return [self.make(layer) for layer in layers]

    def apply(self, layers: Sequence[Layer], x: Any, keeps: Sequence[Any] = ()) -> Any:
        """What the layers make of `x`; `keeps` are the masks of the dropout layers."""
        masks = iter(keeps)
        outputs: dict[str, Any] = {}
        for layer in layers:
            made = self.make(layer)
            match layer:
                case Dropout():
                    x = made([x, next(masks)])
                case Join():
                    x = made([x, outputs[layer.other]])
                case _:
                    x = made(x)
            outputs[layer.name] = x
        return x

    def seed(self, number: int) -> int:
        """Of the first weights of a layer."""
        return philox.layer_seed(self.config.seed, self.net, number)

    def initializer(self, layer: Weighted) -> keras.Initializer:
        return _INITIALIZERS[layer.initializer](seed=self.seed(layer.number))

    def make(self, layer: Layer) -> Any:
        """The Keras layer; models add their own kinds."""
        options: dict[str, Any] = {"dtype": self.policy, "name": layer.name}
        match layer:
            case Weighted():
                return self._weighted(layer, options)
            case Norm():
                options["synchronized"] = synchronized(self.config)
                return BatchNormalization(epsilon=layer.epsilon, **options)
            case Leaky():
                return keras.layers.LeakyReLU(_SLOPE, **options)
            case Relu():
                return keras.layers.ReLU(**options)
            case Dropout():
                return MaskedDropout(layer.rate, **options)
            case Join():
                return keras.layers.Concatenate(**options)
            case Pad() if layer.rule != "zeros":
                return EdgePadding2D(layer.sides, periodic=layer.rule == "channel", **options)
            case Pad():
                two = len(layer.sides) == 2
                kind = keras.layers.ZeroPadding2D if two else keras.layers.ZeroPadding3D
                return kind(layer.sides, **options)
            case Crop():
                return keras.layers.Cropping2D(layer.sides, **options)
            case Output():
                options["dtype"] = "float32"
                return keras.layers.Activation(layer.function, **options)
            case Reshape():
                return keras.layers.Reshape(layer.shape, **options)
            case Flatten():
                return keras.layers.Flatten(**options)
            case Pool():
                return keras.layers.AveragePooling3D(2, **options)
            case _:
                raise TypeError(f"{layer} is of no known kind")

    def _weighted(self, layer: Weighted, options: dict[str, Any]) -> Any:
        options |= {"use_bias": layer.bias, "kernel_initializer": self.initializer(layer)}
        if layer.form != "direct":
            kind = _FORMS[layer.form][isinstance(layer, ConvTranspose)]
            return kind(layer.filters, layer.kernel[0], layer.strides, **options)
        match layer:
            case Dense():
                if layer.float32:
                    options["dtype"] = "float32"
                return keras.layers.Dense(layer.filters, **options)
            case ConvTranspose():
                kind = keras.layers.Conv2DTranspose
            case _:
                kind = keras.layers.Conv2D if len(layer.kernel) == 2 else keras.layers.Conv3D
        return kind(layer.filters, layer.kernel, layer.strides, layer.padding, **options)
