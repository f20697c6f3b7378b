"""The layers of DCGAN, those of the study's Table 1 for 28x28x1 images. Free of TensorFlow.

Kernel 5x5, tanh, dropout 0.3 and no biases in the generator are not printed there: they come from
the tutorial it copies.
"""

from __future__ import annotations

from dataclasses import dataclass

from ganboard.gan.architecture import (
    Conv,
    ConvTranspose,
    Dense,
    Dropout,
    Flatten,
    Layer,
    Leaky,
    Norm,
    Output,
    Reshape,
    Shape,
    dropout_masks,
)
from ganboard.gan.models.dcgan.config import Config

SHAPE = (28, 28, 1)
DROPOUT = 0.3
_KERNEL = (5, 5)


@dataclass(frozen=True)
class SpectralConvTranspose(ConvTranspose):
    """The same function with stride 1, computed in the frequency domain
    (`gan.models.dcgan.spectral`)."""

    def frequencies(self, shape: Shape) -> int:
        # three real products for each complex frequency of a half plane, one for the real frequency
        points = (shape[0] + self.kernel[0] // 2) | 1
        return 3 * (points**2 // 2) + 1


def spectral(config: Config, *, on_cpu: bool) -> bool:
    """Whether the 7x7 transposed convolution is computed in the frequency domain."""
    return config.convolution == "spectral" or (config.convolution == "auto" and on_cpu)


def generator(config: Config, *, spectral: bool) -> tuple[Layer, ...]:
    """From noise to image."""

    def up(number: int, filters: int, strides: int) -> Layer:
        kind = SpectralConvTranspose if spectral and strides == 1 else ConvTranspose
        return kind(f"up_{number}", number, filters, kernel=_KERNEL, strides=strides, bias=False)

    def norm(number: int) -> tuple[Layer, ...]:
        return (Norm(f"norm_{number}"),) if config.generator_batch_norm else ()

    return (
        *(Dense("dense", 0, 7 * 7 * 256, bias=False), *norm(0), Leaky("leaky_0")),
        Reshape("reshape", (7, 7, 256)),
        up(1, 128, 1),
        # Table 1 prints this row twice, the tutorial normalises here
        *((up(4, 128, 1),) if config.table1_literal else norm(1)),
        Leaky("leaky_1"),
        *(up(2, 64, 2), *norm(2), Leaky("leaky_2")),
        *(up(3, 1, 2), Output("tanh", "tanh")),
    )


def discriminator(*, norm: bool) -> tuple[Layer, ...]:
    """From image to logit."""

    def down(number: int, filters: int) -> Layer:
        return Conv(f"down_{number}", number, filters, kernel=_KERNEL, strides=2, padding="same")

    # not right after the input: Radford et al. 2016, section 3
    norms = (Norm("norm_1"),) if norm else ()
    return (
        *(down(0, 64), Leaky("leaky_0"), Dropout("dropout_0", DROPOUT)),
        *(down(1, 128), *norms, Leaky("leaky_1"), Dropout("dropout_1", DROPOUT)),
        *(Flatten("flatten"), Dense("logits", 2, 1, float32=True)),
    )


MASKS = dropout_masks(SHAPE, discriminator(norm=False))  # shapes of dropout's masks, per image
