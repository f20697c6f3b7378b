"""Keras's dropout and noise layers with numbers that the caller draws, so that they are functions
of (seed, step, example) and not of a saved state.

A layer asks for what it needs while its network runs in training. Whoever runs the network answers:
once under `recording`, which lists what is asked, and in each step under `given`, with numbers that
were drawn outside of the network.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple

import keras
import tensorflow as tf


class Request(NamedTuple):
    """Numbers that a layer needs for each example: a mask that keeps with probability 1 - rate, or
    standard normal numbers."""

    kind: Literal["keep", "normal"]
    shape: tuple[int, ...]  # of one example
    rate: float = 0.0


_answer: ContextVar[Callable[[Request, Any], Any]] = ContextVar("answer")


def drawn(request: Request, values: Any) -> Any:
    """What was drawn for `request` of a layer that is given `values` [rows, ...]: [rows, *shape]
    bool or float32."""
    return _answer.get()(request, values)


@contextmanager
def _answering(answer: Callable[[Request, Any], Any]) -> Iterator[None]:
    token = _answer.set(answer)
    try:
        yield
    finally:
        _answer.reset(token)


@contextmanager
def recording() -> Iterator[list[Request]]:
    """A list that collects what is asked in the meantime; the answers leave values as they are."""
    asked: list[Request] = []

    def answer(request: Request, values: Any) -> Any:
        asked.append(request)
        shape = [tf.shape(values)[0], *request.shape]
        return tf.ones(shape, tf.bool) if request.kind == "keep" else tf.zeros(shape)

    with _answering(answer):
        yield asked


@contextmanager
def given(numbers: Sequence[tf.Tensor]) -> Iterator[None]:
    """Answer with `numbers`, one for each question and in that order."""
    left = deque(numbers)
    with _answering(lambda request, values: left.popleft()):
        yield


class Dropout(keras.layers.Dropout):  # type: ignore[misc]
    """Inverted dropout."""

    def call(self, inputs: Any, training: bool = False) -> Any:
        if not training or not self.rate:
            return inputs
        keep = drawn(Request("keep", self._mask_shape(inputs), self.rate), inputs)
        kept = inputs * (1 / (1 - self.rate)) if self.rate < 1 else inputs
        return tf.where(keep, kept, tf.zeros([], inputs.dtype))

    def _mask_shape(self, inputs: Any) -> tuple[int, ...]:
        shape = tuple(inputs.shape[1:])
        wanted = self.noise_shape[1:] if self.noise_shape else shape
        return tuple(
            size if asked is None else asked for asked, size in zip(wanted, shape, strict=True)
        )


class _SpatialDropout(Dropout):
    """Whole maps are kept or dropped."""

    def _mask_shape(self, inputs: Any) -> tuple[int, ...]:
        return *[1] * (len(inputs.shape) - 2), inputs.shape[-1]


class SpatialDropout1D(_SpatialDropout):
    """See `keras.layers.SpatialDropout1D`."""


class SpatialDropout2D(_SpatialDropout):
    """See `keras.layers.SpatialDropout2D`, with channels last."""


class GaussianNoise(keras.layers.GaussianNoise):  # type: ignore[misc]
    """Adds normal numbers of the standard deviation `stddev`."""

    def call(self, inputs: Any, training: bool = False) -> Any:
        if not training or not self.stddev:
            return inputs
        noise = drawn(Request("normal", tuple(inputs.shape[1:])), inputs)
        return inputs + tf.cast(self.stddev * noise, inputs.dtype)


class GaussianDropout(keras.layers.GaussianDropout):  # type: ignore[misc]
    """Multiplies by normal numbers of mean 1 and variance rate / (1 - rate) (Srivastava et al.
    2014, section 10)."""

    def call(self, inputs: Any, training: bool = False) -> Any:
        if not training or not self.rate:
            return inputs
        noise = drawn(Request("normal", tuple(inputs.shape[1:])), inputs)
        deviation = math.sqrt(self.rate / (1 - self.rate))
        return inputs * tf.cast(1 + deviation * noise, inputs.dtype)
