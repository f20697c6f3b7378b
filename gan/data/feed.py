"""The examples of a training step: held in memory as tensors, or read from the disk ahead of the
step.

Small sets stay tensors in host memory, of which a step gathers its rows: there is nothing to wait
for. Larger ones are read from their cache by threads that know the order of the epoch
(`gan.data.read_ahead`), so that the process needs the memory of a few batches. Both give the same
rows to the same step, whichever loop or strategy asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ganboard.gan.data.dataset import DatasetError, Images, Labels
from ganboard.gan.data.pictures.rows import HELD_BYTES, Rows
from ganboard.gan.data.read_ahead import Order, ReadAhead

Column = Any  # a tensor [N, ...], or ReadAhead


def columns(
    images: Rows | Images, labels: Labels | None = None, memory: int = HELD_BYTES
) -> list[Column]:
    """What `rows` reads: images [N, H, W, C] uint8, and labels [N] as int32 if they are given.

    Images on disk that take more than `memory` bytes stay there.
    """
    found: list[Column] = []
    if isinstance(images, Rows) and images.nbytes > memory:
        found.append(ReadAhead(images))
    else:
        found.append(tf.constant(np.asarray(images)))
    if labels is not None:
        found.append(tf.constant(labels, tf.int32))
    return found


def rows(columns: Sequence[Column], batch: tf.Tensor, size: int) -> list[tf.Tensor]:
    """The examples `batch` [size] of each column: [size, H, W, C] uint8, and [size] int32. For a
    recipe's `rows`; called on the host."""
    return [_rows(column, batch, size) for column in columns]


def expect(columns: Any, order: Order, first: int, size: int) -> None:
    """The next steps take the batches of `order` from number `first` on: begin to read them."""
    for stream in _streams(columns):
        stream.expect(order, first, size)


def failure(columns: Any) -> DatasetError | None:
    """Why the disk refused what a step asked for, if it did: TensorFlow wraps what is raised inside
    of a graph."""
    return next((stream.failure for stream in _streams(columns) if stream.failure), None)


def _rows(column: Column, batch: tf.Tensor, size: int) -> tf.Tensor:
    if isinstance(column, ReadAhead):
        # not a tf.py_function, which would also record gradients and wait for a lock of its own
        found = tf.numpy_function(column.read, [batch], tf.uint8)
        return tf.ensure_shape(found, [size, *column.rows.shape[1:]])
    return tf.ensure_shape(tf.gather(column, batch), [size, *column.shape[1:]])


def _streams(columns: Any) -> list[ReadAhead]:
    held = columns if isinstance(columns, list | tuple) else []
    return [column for column in held if isinstance(column, ReadAhead)]
