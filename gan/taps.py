"""The numbers behind `gan.layers.spectral` and `gan.layers.subpixel`, for those who reckon without
TensorFlow."""

from __future__ import annotations

from typing import NamedTuple


class Taps(NamedTuple):
    """How a kernel with padding "same" splits into kernels of stride 1, one for each position
    within a stride."""

    before: int  # zeros before the first tap
    number: int  # taps of each
    centre: int  # the tap at the output's own place


def taps(kernel: int, strides: int) -> Taps:
    """The split of `kernel` taps along one axis, for maps whose side `strides` divides."""
    padding = max(kernel - strides, 0) // 2  # TensorFlow's "same" before the map
    before = -padding % strides
    return Taps(before, -(-(before + kernel) // strides), (before + padding) // strides)


def points(size: int, kernel: Taps) -> int:
    """Side length of the smallest transform that keeps wrapped-around values on the padding."""
    return size + max(kernel.centre, kernel.number - 1 - kernel.centre)


def products(side: int) -> int:
    """Real products per pair of channels of a transform with this side length."""
    real = 1 if side % 2 else 4  # frequencies that are their own conjugates
    return real + 3 * (side**2 - real) // 2
