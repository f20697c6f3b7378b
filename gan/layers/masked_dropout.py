"""Dropout whose masks are drawn by the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf


class MaskedDropout(keras.layers.Layer):  # type: ignore[misc]
    """Inverted dropout by a mask that the caller draws, so that it is a function of (seed, step,
    image) and not of a saved state."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def call(self, inputs: Sequence[Any]) -> tf.Tensor:
        """`inputs` = (values, keep); without a mask (inference) the values pass."""
        values, keep = inputs
        return (
            values
            if keep is None
            else tf.where(keep, values * (1 / (1 - self.rate)), tf.zeros([], values.dtype))
        )

    def compute_output_shape(
        self, input_shape: Sequence[tuple[int | None, ...]]
    ) -> tuple[int | None, ...]:
        return input_shape[0]
