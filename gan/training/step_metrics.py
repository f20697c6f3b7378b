"""What training steps report: named tensors inside the graph, one row of numbers on the way out of
it, named arrays in Python.

`pack` and `unpack` alone know the order of the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ganboard.gan.events import Losses
from ganboard.gan.modeling.gradients import METRICS


class Seconds(NamedTuple):
    """Where the time of a step went in a replica; all zero on accelerators."""

    input: Any  # reading the examples
    compute: Any  # from the examples to the gradients
    reduce: Any  # summing the gradients over the replicas
    step: Any  # all of it, the update included


class UpdateMetrics(NamedTuple):
    """What is equal in every replica and added up over the phases of a step; float32 scalars."""

    g_gradient: Any  # squared L2 norm of G's gradient, before clipping
    g_update: Any  # squared L2 norm of what G's weights moved by
    d_gradient: Any
    d_update: Any
    overflows: Any  # elements of 16-bit gradients that are not finite
    underflows: Any  # elements of 16-bit gradients that are zero
    skipped: Any  # updates left out since a scaled gradient overflowed


class StateMetrics(NamedTuple):
    """What is equal in every replica and of which the largest over the phases of a step counts."""

    bad_tensor: (
        Any  # number of the first gradient that is not finite (`Networks.tensors`); -1: none
    )
    loss_scale: Any  # of G; 1 without loss scaling


class StepReport(NamedTuple):
    """A replica's report of a phase, or of a whole step; the sum over all replicas is that of the
    step."""

    metrics: tf.Tensor  # [METRICS and the model's own terms]: as in `Shares.metrics`
    update: tf.Tensor  # [UpdateMetrics], zero in all replicas but the first
    state: tf.Tensor  # [StateMetrics], zero in all replicas but the first
    seconds: tf.Tensor  # [replicas, Seconds], zero in all rows but the replica's own


@dataclass(frozen=True)
class StepMetrics:
    """What n consecutive steps reported: [n] float32 each, means over the global batch unless
    `UpdateMetrics` or `StateMetrics` say otherwise."""

    g_loss: Losses
    d_loss: Losses
    d_real: Losses  # mean of D's opinion of real images, in [0, 1]
    d_fake: Losses  # of generated ones
    g_gradient: Losses
    g_update: Losses
    d_gradient: Losses
    d_update: Losses
    overflows: Losses
    underflows: Losses
    skipped: Losses
    bad_tensor: Losses
    loss_scale: Losses
    seconds: Seconds  # [n, replicas] float32 each
    terms: Mapping[str, Losses]  # the model's own: `Recipe.terms`

    def __len__(self) -> int:
        return len(self.g_loss)

    @classmethod
    def joined(cls, parts: Sequence[StepMetrics]) -> StepMetrics:
        """The steps of all `parts`, one at least, in this order."""
        arrays: dict[str, Any] = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
            if field.name not in ("seconds", "terms")
        }
        seconds = Seconds(*map(np.concatenate, zip(*(part.seconds for part in parts), strict=True)))
        terms = {
            name: np.concatenate([part.terms[name] for part in parts]) for name in parts[0].terms
        }
        return cls(**arrays, seconds=seconds, terms=terms)


def over_phases(reports: Sequence[StepReport]) -> StepReport:
    """One report of the phases of a step."""
    metrics, update, state, seconds = zip(*reports, strict=True)
    return StepReport(
        tf.add_n(metrics), tf.add_n(update), reduce(tf.maximum, state), tf.add_n(seconds)
    )


def width(terms: Sequence[str], replicas: int) -> int:
    """Numbers in the packed report of one step."""
    return len(_names(terms)) + replicas * len(Seconds._fields)


def pack(report: StepReport) -> tf.Tensor:
    """The report of one step as a row, [width]."""
    return tf.concat(
        [report.metrics, report.update, report.state, tf.reshape(report.seconds, [-1])], 0
    )


def unpack(rows: Losses, terms: Sequence[str], replicas: int) -> StepMetrics:
    """What n steps reported in `rows` [n, width], summed over all replicas."""
    names = _names(terms)
    columns, seconds = np.split(rows, [len(names)], axis=1)
    found: dict[str, Any] = dict(zip(names, columns.T, strict=True))
    own = {name: found.pop(name) for name in terms}
    by_replica = seconds.reshape(len(rows), replicas, len(Seconds._fields))
    return StepMetrics(**found, seconds=Seconds(*np.moveaxis(by_replica, 2, 0)), terms=own)


def _names(terms: Sequence[str]) -> tuple[str, ...]:
    return (*METRICS, *terms, *UpdateMetrics._fields, *StateMetrics._fields)
