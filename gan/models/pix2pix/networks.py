"""U-Net and 70x70 PatchGAN of pix2pix, as TensorFlow's tutorial has them (Isola et al. 2017,
section 6.1; its LeakyReLU has slope 0.2).

With three channels in and out the U-Net has 54,425,859 parameters at 256x256, 41,838,851 at 128,
29,251,843 at 64, and the PatchGAN 2,770,433. A size of 2^n has n stages down to one pixel and n up.
Batch norm takes moving statistics at inference, where the published one takes those of the batch: a
tile's result must not depend on which tiles are computed with it.
"""

from __future__ import annotations

from typing import Any

import keras

from ganboard.gan.config import RunConfig
from ganboard.gan.layers.factory import Maker
from ganboard.gan.layers.masked_dropout import MaskedDropout
from ganboard.gan.models.pix2pix.costs import dropped, widths

DROPOUT = 0.5
_KERNEL = 4
_SPREAD = 0.02  # standard deviation of the first weights


def masks(size: int) -> tuple[tuple[int, int, int], ...]:
    """Shapes of the generator's dropout masks, per picture."""
    return tuple((2 << stage, 2 << stage, widths(size)[-1]) for stage in range(dropped(size)))


class _Maker(Maker):
    def conv(
        self,
        filters: int,
        *,
        up: bool = False,
        strides: int = 2,
        padding: str = "same",
        bias: bool = False,
    ) -> Any:
        kind = keras.layers.Conv2DTranspose if up else keras.layers.Conv2D
        init = keras.initializers.RandomNormal(0, _SPREAD, self.seed())
        options = {
            "use_bias": bias,
            "kernel_initializer": init,
            "dtype": self.policy,
            "name": f"conv_{self.count}",
        }
        return kind(filters, _KERNEL, strides, padding, **options)

    def drop(self, x: Any, keep: Any) -> Any:
        return MaskedDropout(DROPOUT, dtype=self.policy, name=f"dropout_{self.count}")([x, keep])

    def join(self, *parts: Any) -> Any:
        return keras.layers.Concatenate(dtype=self.policy, name=f"join_{self.count}")(parts)

    def pad(self) -> Any:
        return keras.layers.ZeroPadding2D(dtype=self.policy, name=f"pad_{self.count}")


def generator(config: RunConfig, size: int, inputs: int, outputs: int) -> keras.Model:
    """(pictures [B, size, size, inputs], keep masks of `masks` or None) -> pictures [B, size, size,
    outputs] float32 in [-1, 1]."""
    make = _Maker(config, 0)
    picture = keras.Input((size, size, inputs), name="picture")
    keeps = [
        keras.Input(shape, dtype="bool", optional=True, name=f"keep_{i}")
        for i, shape in enumerate(masks(size))
    ]
    x, passed = picture, []
    for stage, filters in enumerate(widths(size)):
        x = make.conv(filters)(x)
        x = make.norm()(x) if stage else x
        x = make.leaky()(x)
        passed.append(x)
    for stage, across in enumerate(reversed(passed[:-1])):
        x = make.conv(across.shape[-1], up=True)(x)
        x = make.norm()(x)
        x = make.drop(x, keeps[stage]) if stage < len(keeps) else x
        x = make.join(make.relu()(x), across)
    x = make.conv(outputs, up=True, bias=True)(x)
    return keras.Model(
        [picture, *keeps],
        keras.layers.Activation("tanh", dtype="float32", name="tanh")(x),
        name="generator",
    )


def discriminator(config: RunConfig, size: int, inputs: int, outputs: int) -> keras.Model:
    """(pictures [B, size, size, inputs], targets [B, size, size, outputs]) -> logits [B, n, n, 1]
    float32, each of a 70x70 patch."""
    make = _Maker(config, 1)
    picture, target = (
        keras.Input((size, size, inputs), name="picture"),
        keras.Input((size, size, outputs), name="target"),
    )
    x = make.conv(64)(make.join(picture, target))
    x = make.leaky()(x)
    for filters, strides in ((128, 2), (256, 2), (512, 1)):
        x = make.pad()(x) if strides == 1 else x
        x = make.conv(filters, strides=strides, padding="same" if strides == 2 else "valid")(x)
        x = make.norm()(x)
        x = make.leaky()(x)
    x = make.pad()(x)
    x = make.conv(1, strides=1, padding="valid", bias=True)(x)
    return keras.Model(
        [picture, target],
        keras.layers.Activation("linear", dtype="float32", name="logits")(x),
        name="discriminator",
    )
