"""The layers of DCGAN, those of the study's Table 1 for 28x28x1 images. Free of TensorFlow.

Kernel 5x5, tanh, dropout 0.3 and no biases in the generator are not printed there: they come from
the tutorial it copies.
"""

from __future__ import annotations

from typing import NamedTuple

from ganboard.gan.architecture import (
    Conv,
    ConvTranspose,
    Dense,
    Dropout,
    Flatten,
    Form,
    Layer,
    Leaky,
    Norm,
    Output,
    Reshape,
    dropout_masks,
)
from ganboard.gan.models.dcgan.config import Config

SHAPE = (28, 28, 1)
DROPOUT = 0.3
_KERNEL = (5, 5)


class Forms(NamedTuple):
    """How each convolution is computed."""

    first: Form  # G's transposed one from 7x7 to 7x7
    up: Form  # G's from 7x7 to 14x14
    down: Form  # D's from 14x14 to 7x7
    image: Form  # those from and to the image


def forms(config: Config, *, on_cpu: bool) -> Forms:
    """The forms that `config.convolution` stands for."""
    if config.convolution == "direct" or (config.convolution == "auto" and not on_cpu):
        return Forms("direct", "direct", "direct", "direct")
    # With stride 2 the spectra of the kernels pay from here on: G's takes 11.0 ms directly and 11.9
    # for 32 images in float32, 19.6 and 15.7 for 64, 79 and 50 for 256; in bfloat16 7.5 and 5.4,
    # 13.0 and 9.3, 44 and 30 (two cores, forward and backward)
    fewest = 48 if config.precision == "float32" else 24
    if config.convolution == "spectral":
        fewest = 0

    def strided(rows: int) -> Form:
        return "spectral" if rows >= fewest else "direct"

    rows = config.batch_size  # of all replicas and parts, which so compute alike
    return Forms("spectral", strided(rows), strided(2 * rows), "subpixel")


def generator(config: Config, *, on_cpu: bool) -> tuple[Layer, ...]:
    """From noise to image."""
    first, twice, _, image = forms(config, on_cpu=on_cpu)

    def up(number: int, filters: int, strides: int, form: Form) -> Layer:
        return ConvTranspose(
            f"up_{number}", number, filters, kernel=_KERNEL, strides=strides, bias=False, form=form
        )

    def norm(number: int) -> tuple[Layer, ...]:
        return (Norm(f"norm_{number}"),) if config.generator_batch_norm else ()

    return (
        *(Dense("dense", 0, 7 * 7 * 256, bias=False), *norm(0), Leaky("leaky_0")),
        Reshape("reshape", (7, 7, 256)),
        up(1, 128, 1, first),
        # Table 1 prints this row twice, the tutorial normalises here
        *((up(4, 128, 1, first),) if config.table1_literal else norm(1)),
        Leaky("leaky_1"),
        *(up(2, 64, 2, twice), *norm(2), Leaky("leaky_2")),
        *(up(3, 1, 2, image), Output("tanh", "tanh")),
    )


def discriminator(config: Config, *, on_cpu: bool) -> tuple[Layer, ...]:
    """From image to logit."""
    *_, half, image = forms(config, on_cpu=on_cpu)

    def down(number: int, filters: int, form: Form) -> Layer:
        return Conv(
            f"down_{number}", number, filters, kernel=_KERNEL, strides=2, padding="same", form=form
        )

    # not right after the input: Radford et al. 2016, section 3
    norms = (Norm("norm_1"),) if config.discriminator_batch_norm else ()
    return (
        *(down(0, 64, image), Leaky("leaky_0"), Dropout("dropout_0", DROPOUT)),
        *(down(1, 128, half), *norms, Leaky("leaky_1"), Dropout("dropout_1", DROPOUT)),
        *(Flatten("flatten"), Dense("logits", 2, 1, float32=True)),
    )


# shapes of dropout's masks, per image
MASKS = dropout_masks(SHAPE, discriminator(Config(), on_cpu=True))
