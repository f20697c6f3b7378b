"""Which sizes and colours pictures can have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ganboard.gan.data.dataset import DatasetError

MIN_SIDE, MAX_SIDE = 28, 256  # pixels
CHANNELS = {1: "grey", 3: "colour"}


def require_shape(side: int, channels: int) -> None:
    """Raises DatasetError for a size or number of channels that no model here makes."""
    if not MIN_SIDE <= side <= MAX_SIDE:
        raise DatasetError(f"image_size={side} must be {MIN_SIDE} to {MAX_SIDE} pixels.")
    if channels not in CHANNELS:
        raise DatasetError(f"channels={channels} must be 1 (grey) or 3 (colour).")


def sampled(examples: int, count: int) -> npt.NDArray[np.int64]:
    """Up to `count` different numbers below `examples`, in order and evenly spaced."""
    found = min(examples, count)
    return np.arange(found) * examples // max(1, found)
