"""The layers of a network as data: `gan.layers.factory` makes Keras layers of them, and
`gan.costs.layer` sums what they cost. Free of TensorFlow.

Shapes are those of one example, channels last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from math import prod
from typing import Literal

from ganboard.gan.taps import points, products, taps

Shape = tuple[int, ...]
# how a convolution is computed: as Keras does, or as the module of `gan.layers` with that name does
Form = Literal["direct", "spectral", "subpixel", "patches"]


@dataclass(frozen=True)
class Layer:
    """One layer; most leave the shape as it is."""

    name: str

    def output(self, shape: Shape) -> Shape:
        return shape


@dataclass(frozen=True)
class Weighted(Layer):
    """A layer with a kernel."""

    number: int  # in its network: the seed of the first weights follows from it
    filters: int
    _: KW_ONLY
    kernel: Shape = ()
    strides: int = 1
    padding: str = "valid"
    bias: bool = True
    initializer: str = "glorot_uniform"
    float32: bool = False  # whatever the precision of the run
    form: Form = "direct"

    def output(self, shape: Shape) -> Shape:
        lost = [0 if self.padding == "same" else taps - 1 for taps in self.kernel]
        sides = (-(-(n - less) // self.strides) for n, less in zip(shape[:-1], lost, strict=True))
        return (*sides, self.filters)

    def weights(self, shape: Shape) -> int:
        """Values of the kernel, where `shape` enters."""
        return prod(self.kernel) * shape[-1] * self.filters

    def macs(self, shape: Shape) -> int:
        """Multiply-accumulates: each place of the smaller map meets the whole kernel."""
        places = min(prod(shape[:-1]), prod(self.output(shape)[:-1]))
        return places * self.weights(shape)

    def waves(self, shape: Shape) -> int:
        """Values in the frequency domain of what comes in, which the kernel's gradient wants."""
        return self._frequencies(shape) * self._split(shape[-1])[0]

    def spectrum(self, shape: Shape) -> int:
        """Weights in the frequency domain."""
        return self._frequencies(shape) * prod(self._split(shape[-1]))

    def _split(self, channels: int) -> tuple[int, int]:
        """Channels that come in and go out, once maps are split by their place within a stride."""
        return channels * self.strides**2, self.filters

    def _frequencies(self, shape: Shape) -> int:
        if self.form != "spectral":
            return 0
        side = min(shape[0], self.output(shape)[0])
        return products(points(side, taps(self.kernel[0], self.strides)))


@dataclass(frozen=True, kw_only=True)
class Dense(Weighted):
    """A layer whose kernel spans no axis."""


@dataclass(frozen=True, kw_only=True)
class Conv(Weighted):
    """A convolution over as many axes as its kernel has."""


@dataclass(frozen=True, kw_only=True)
class ConvTranspose(Weighted):
    """The transpose of a convolution with padding "same"."""

    padding: str = "same"

    def output(self, shape: Shape) -> Shape:
        return (*(n * self.strides for n in shape[:-1]), self.filters)

    def _split(self, channels: int) -> tuple[int, int]:
        return channels, self.filters * self.strides**2


@dataclass(frozen=True)
class Norm(Layer):
    """Batch norm."""

    epsilon: float = 1e-3


@dataclass(frozen=True)
class Leaky(Layer):
    """LeakyReLU."""


@dataclass(frozen=True)
class Relu(Layer):
    pass


@dataclass(frozen=True)
class Dropout(Layer):
    """Dropout by a mask that the caller draws."""

    rate: float


@dataclass(frozen=True)
class Join(Layer):
    """Concatenates the `channels` that the layer named `other` has given."""

    other: str
    channels: int

    def output(self, shape: Shape) -> Shape:
        return (*shape[:-1], shape[-1] + self.channels)


@dataclass(frozen=True)
class Pad(Layer):
    """More places on both sides of each axis: zeros, or in two dimensions the outermost ones
    repeated (edge), or those of the opposite edge down and the outermost ones across (channel)."""

    sides: Shape
    rule: Literal["zeros", "edge", "channel"] = "zeros"

    def output(self, shape: Shape) -> Shape:
        padded = (n + 2 * more for n, more in zip(shape[:-1], self.sides, strict=True))
        return (*padded, shape[-1])


@dataclass(frozen=True)
class Crop(Layer):
    """Fewer places on both sides of each of two axes."""

    sides: Shape

    def output(self, shape: Shape) -> Shape:
        cropped = (n - 2 * fewer for n, fewer in zip(shape[:-1], self.sides, strict=True))
        return (*cropped, shape[-1])


@dataclass(frozen=True)
class Output(Layer):
    """The last activation, in float32."""

    function: str


@dataclass(frozen=True)
class Reshape(Layer):
    shape: Shape

    def output(self, shape: Shape) -> Shape:
        return self.shape


@dataclass(frozen=True)
class Flatten(Layer):
    def output(self, shape: Shape) -> Shape:
        return (prod(shape),)


@dataclass(frozen=True)
class Pool(Layer):
    """Means of two neighbours along each axis."""

    def output(self, shape: Shape) -> Shape:
        return (*(n // 2 for n in shape[:-1]), shape[-1])


def entering(shape: Shape, layers: Sequence[Layer]) -> Iterator[tuple[Layer, Shape]]:
    """Each layer with the shape that enters it, `shape` at the first."""
    for layer in layers:
        yield layer, shape
        shape = layer.output(shape)


def output_shape(shape: Shape, layers: Sequence[Layer]) -> Shape:
    """The shape that leaves the last layer, `shape` entering the first."""
    for layer in layers:
        shape = layer.output(shape)
    return shape


def dropout_masks(shape: Shape, layers: Sequence[Layer]) -> tuple[Shape, ...]:
    """Shapes of the masks that the caller draws."""
    return tuple(at for layer, at in entering(shape, layers) if isinstance(layer, Dropout))
