"""What a script may give as a setting or as the value of a metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ganboard.worker.external.limits import MAX_NAME, MAX_SETTINGS, Scalar

LONGEST = 300  # characters of a setting
BINS = 50  # of a histogram


class StartError(ValueError):
    """`ganboard.start` was called with something that cannot be used; the message is one
    sentence."""


def settings(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """A configuration as JSON without nesting: `{"adam": {"lr": 1}}` has `adam.lr`; what JSON lacks
    is text. Raises StartError."""
    if not isinstance(config, Mapping):
        raise StartError(
            f"config is a {type(config).__name__}. Pass a mapping of names to values, such as"
            " {'batch_size': 64} or vars(args)."
        )
    found = dict(_flat(config, ""))
    if len(found) > MAX_SETTINGS:
        raise StartError(f"config has {len(found):,} entries; the limit is {MAX_SETTINGS}.")
    return found


def _flat(config: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Scalar]]:
    for key, value in config.items():
        name = f"{prefix}{key}"
        if not name or len(name) > MAX_NAME:
            raise StartError(
                f"config has the name {name[:90]!r}; names have 1 to {MAX_NAME} characters."
            )
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        else:
            yield name, _plain(value)


def _plain(value: Any) -> Scalar:
    if value is None or isinstance(value, bool):
        return value
    if type(value) is int and abs(value) < 2**63:
        return value
    if isinstance(value, str):
        return value[:LONGEST]
    number = metric(value)
    if number is None or not math.isfinite(number):
        return str(value)[:LONGEST]
    return int(number) if number.is_integer() and "int" in type(value).__name__ else number


def metric(value: Any) -> float | None:
    """A number, or a tensor that holds one, as float; None for anything else."""
    if isinstance(value, (str, bytes, complex)) or value is None:
        return None
    shape = getattr(value, "shape", ())
    if len(shape) and any(side != 1 for side in shape):
        return None
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, OverflowError):
        return None


def spread(array: Any) -> tuple[list[float], list[float]]:
    """Edges [BINS + 1] and counts [BINS] of all finite values of an array or tensor. Raises
    ValueError where there is none."""
    if hasattr(array, "detach"):  # PyTorch: on a device, and part of a graph
        array = array.detach().cpu()
    values = np.asarray(array).astype(np.float64).reshape(-1)
    finite = values[np.isfinite(values)]
    if not len(finite):
        raise ValueError("a histogram needs at least one finite value.")
    counts, edges = np.histogram(finite, BINS)
    return edges.tolist(), counts.astype(np.float64).tolist()
