"""Weights stored in fewer bits and computed as float32: of the trained kernels, by output channel.
Pure NumPy.

int8 is symmetric with one scale for each output channel (Jacob et al. 2018, section 3; Nagel et al.
2021, section 2.2.2): w = s q with q = round(w / s) in -127 .. 127 and s = max |w| / 127 of the
channel, so that no weight moves by more than s / 2. Biases and batch norm, a thousandth of all
weights, stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[Any]]
Variant = Literal["float32", "float16", "int8"]

_LEVELS = 127
_SCALE = "/scale"


def pack(weights: Arrays, axes: Mapping[str, int], variant: Variant) -> Arrays:
    """`weights` by name as they are stored; `axes` has the axis of the output channels of those
    that are kernels.

    An int8 kernel brings a second array, NAME/scale [channels]. Values beyond float16 become
    infinite: look at what `unpack` gives.
    """
    packed = {}
    for name, array in weights.items():
        if name not in axes or variant == "float32":
            packed[name] = array
        elif variant == "float16":
            with np.errstate(over="ignore"):
                packed[name] = array.astype(np.float16)
        else:
            others = tuple(axis for axis in range(array.ndim) if axis != axes[name] % array.ndim)
            scale = np.abs(array).max(others, keepdims=True) / np.float32(_LEVELS)
            packed[name] = np.rint(array / np.where(scale > 0, scale, 1)).astype(np.int8)
            packed[name + _SCALE] = scale
    return packed


def unpack(stored: Arrays) -> Arrays:
    """The weights in float32 of what `pack` gave."""
    weights = {}
    for name, array in stored.items():
        if not name.endswith(_SCALE):
            scale = stored.get(name + _SCALE)
            weights[name] = array.astype(np.float32) * (np.float32(1) if scale is None else scale)
    return weights
