"""What the layers of a network cost, by their shapes. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ganboard.gan.architecture import (
    Dropout,
    Layer,
    Leaky,
    Norm,
    Output,
    Relu,
    Shape,
    Weighted,
    entering,
)


@dataclass
class LayerCost:
    """One convolution or product with the batch norm, activation and dropout behind it; all numbers
    are for one image."""

    name: str
    # multiply-accumulates forwards, those of a direct convolution that skips the zeros of padding
    # and stride
    macs: int
    parameters: int  # trained ones, batch norm included
    entering: int  # values that come in
    leaving: int  # values that go out
    norm: bool = False
    activated: bool = False
    masked: bool = False
    waves: int = 0  # values in the frequency domain, of what comes in
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


def layer_costs(shape: Shape, layers: Sequence[Layer]) -> tuple[LayerCost, ...]:
    """What each layer with a kernel costs, `shape` entering the first."""
    found: list[LayerCost] = []
    for layer, at in entering(shape, layers):
        match layer:
            case Weighted():
                cost = LayerCost(
                    layer.name,
                    layer.macs(at),
                    layer.weights(at) + layer.bias * layer.filters,
                    prod(at),
                    prod(layer.output(at)),
                    waves=layer.waves(at),
                    spectrum=layer.spectrum(at),
                )
                found.append(cost)
            case Norm():
                found[-1].norm = True
                found[-1].parameters += 2 * at[-1]
            case Leaky() | Relu():
                found[-1].activated = True
            case Output():
                found[-1].activated = layer.function != "linear"
            case Dropout():
                found[-1].masked = True
    return tuple(found)


def parameters(layers: Sequence[LayerCost]) -> int:
    """Trained parameters."""
    return sum(layer.parameters for layer in layers)


def macs(layers: Sequence[LayerCost]) -> int:
    """Multiply-accumulates of one image, forwards."""
    return sum(layer.macs for layer in layers)
