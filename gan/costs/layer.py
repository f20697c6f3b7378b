"""What one layer of a network costs, by its shape. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """One convolution or product with the batch norm, LeakyReLU and dropout behind it; all numbers
    are for one image."""

    name: str
    # multiply-accumulates forwards, those of a direct convolution that skips the zeros of padding
    # and stride
    macs: int
    parameters: int  # trained ones, batch norm included
    entering: int  # values that come in
    leaving: int  # values that go out
    norm: bool = False
    activated: bool = True
    masked: bool = False
    waves: int = 0  # values in the frequency domain, of what comes in and goes out
    spectrum: int = 0  # weights in the frequency domain, whatever the number of images

    def kept(self, half: int, recompute: bool) -> int:
        """Bytes that wait for the backward pass, with `half` bytes per value of a layer's
        computation.

        What enters is wanted by the weights' gradient, the value before LeakyReLU by its own; batch
        norm keeps its input in float32.
        """
        values = self.entering + (0 if recompute else self.waves + self.leaving * self.activated)
        return (
            half * values
            + (0 if recompute else 4 * self.leaving * self.norm)
            + self.leaving * self.masked
        )


def parameters(layers: Sequence[Layer]) -> int:
    """Trained parameters."""
    return sum(layer.parameters for layer in layers)


def macs(layers: Sequence[Layer]) -> int:
    """Multiply-accumulates of one image, forwards."""
    return sum(layer.macs for layer in layers)
