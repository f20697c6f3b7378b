"""The Keras layers of the compact 3DGAN that have no weights (`gan.models.gan3d.compact`)."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from ganboard.gan.models.gan3d import losses
from ganboard.gan.models.gan3d.architecture import SHAPES, Geometry
from ganboard.gan.models.gan3d.compact import CELL_POWER
from ganboard.gan.models.gan3d.data.layouts import LAYOUTS
from ganboard.gan.models.gan3d.source import LAYOUT

_MIDDLE, _HALF_RANGE = 1.5, 0.5  # of the energies 100 to 200 GeV, in 100 GeV
_FRACTION = 0.02  # of the energy is seen: about that of dataset=showers
_LEAST_SHARE = 1e-6  # keeps a layer without any cell finite
_FIRST_MAP = 0.1  # so that maps begin above zero and learn
_LEAST_CELL = 1e-8  # inside a root
_LEAST_LAYER = 1e-3  # inside a logarithm


class Crop(keras.layers.Layer):  # type: ignore[misc]
    """The first `side` rows and columns: [B, h, w, c] -> [B, side, side, c]."""

    def __init__(self, side: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.side = side

    def call(self, inputs: Any) -> Any:
        # not by an index, whose gradient takes ten times as long
        return tf.slice(inputs, [0] * 4, [-1, self.side, self.side, inputs.shape[-1]])


class Centred(keras.layers.Layer):  # type: ignore[misc]
    """Latents [B, n] with energies of 100 to 200 GeV as -1 to 1, in the scale of the noise."""

    def call(self, inputs: Any) -> Any:
        energy = (inputs[:, :1] - _MIDDLE) / _HALF_RANGE
        return keras.ops.concatenate([energy, inputs[:, 1:]], -1)


class Deposit(keras.layers.Layer):  # type: ignore[misc]
    """(Maps [B, x, y, z], logits and sum [B, z + 1], latents [B, n]) -> images [B, x, y, z, 1].

    A layer has its share (softmax) of a sum near _FRACTION of the particle's energy; its cells have
    their shares of that, squares of rectified maps: exactly zero where a map is negative, as most
    cells are.
    """

    def __init__(self, geometry: Geometry, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unit, self.power = _unit(geometry), losses.POWERS[geometry]

    def call(self, inputs: Any) -> Any:
        maps, energies, latents = (keras.ops.cast(part, "float32") for part in inputs)
        total = self.unit * latents[:, :1] * keras.ops.exp(energies[:, -1:] / 10)
        layers = total * keras.ops.softmax(energies[:, :-1])
        cells = keras.ops.square(keras.ops.relu(maps + _FIRST_MAP))
        whole = keras.ops.sum(cells, (1, 2), keepdims=True) + _LEAST_SHARE
        deposited = cells / whole * layers[:, None, None, :]
        return keras.ops.expand_dims(_to_power(deposited, self.power), -1)


class Seen(keras.layers.Layer):  # type: ignore[misc]
    """Images [B, x, y, z, 1] -> cells to CELL_POWER [B, x, y, z]."""

    def __init__(self, geometry: Geometry, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.power = losses.POWERS[geometry]

    def call(self, inputs: Any) -> Any:
        return _to_power(_cells(inputs), CELL_POWER / self.power)


class LayerEnergies(keras.layers.Layer):  # type: ignore[misc]
    """Images [B, x, y, z, 1] -> the energies of layers, as logarithms and as they are, in units of
    what is usual [B, 2 z]."""

    def __init__(self, geometry: Geometry, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.usual = _MIDDLE * _unit(geometry) / SHAPES[geometry][2]
        self.power = losses.POWERS[geometry]

    def call(self, inputs: Any) -> Any:
        cells = _to_power(_cells(inputs), 1 / self.power)
        layers = keras.ops.sum(cells, (1, 2)) / self.usual
        return keras.ops.concatenate([keras.ops.log(layers + _LEAST_LAYER), layers], -1)


def _unit(geometry: Geometry) -> float:
    """The sum of the cells of 100 GeV, in stored units as a training has them."""
    layout = LAYOUTS[LAYOUT[geometry]]
    return 100 * _FRACTION * layout.per_gev * layout.xscale


def _cells(images: Any) -> Any:
    return keras.ops.squeeze(keras.ops.cast(images, "float32"), -1)


def _to_power(cells: Any, power: float) -> Any:
    """Roots of zero have no gradient."""
    return cells if power == 1 else keras.ops.power(keras.ops.relu(cells) + _LEAST_CELL, power)
