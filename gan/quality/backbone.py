"""The network behind the features of images of any size, and its use on the first CPU.

All of it is explicit: seeds, names, precision float32, device. See `classifier` for why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.data.dataset import Images
from ganboard.gan.quality.extract import Singles
from ganboard.gan.rng import philox

FEATURES = 64
DEVICE = "/CPU:0"
SEED = 0
# images that features are learned from: more take longer to read than they teach
TRAINED_ON = 10_000
TRAINED_BYTES = 1 << 29

_NET = 3  # of `philox.layer_seed`, beside 0 (generator), 1 (discriminator) and 2 (classifier)
_SMALLEST = 7  # pixels of the last feature map, at most
_ROWS = 250  # images per call of the trained network, of up to 64x64x3 pixels

Maker = Callable[[], keras.Initializer]


def initializers(net: int = _NET) -> Maker:
    """Makes the initializers of one layer after the other, each with a seed of its own."""
    layers = count()
    return lambda: keras.initializers.HeUniform(philox.layer_seed(SEED, net, next(layers)))


def network(shape: Sequence[int], initial: Maker) -> keras.Model:
    """Pixels [n, H, W, C] float32 0..255 -> features [n, FEATURES].

    The first convolution strides so that 16 to 32 pixels are left of any side, as the patches of a
    vision transformer do (Dosovitskiy et al. 2021): pictures of 256 pixels cost little more than
    those of 64, and no pixel is left out. Batch norm gives every feature a similar scale.
    """
    height, width, _ = shape
    stride = max(2, max(height, width) // 32)
    image = keras.Input(tuple(shape), dtype="float32", name="image")
    x = keras.layers.Rescaling(1 / 127.5, -1, dtype="float32", name="scale")(image)
    x = _convolution(x, 32, 2 * stride + 1, stride, initial)
    x = _convolution(x, 64, 3, 2, initial)
    while max(x.shape[1:3]) > _SMALLEST:
        x = _convolution(x, 128, 3, 2, initial)
    x = keras.layers.Flatten(dtype="float32", name="flatten")(x)
    x = dense(x, FEATURES, "features", initial)
    return keras.Model(image, x, name="backbone")


def dense(x: keras.KerasTensor, units: int, name: str, initial: Maker) -> keras.KerasTensor:
    """A dense layer, batch norm and ReLU."""
    x = keras.layers.Dense(
        units, use_bias=False, kernel_initializer=initial(), dtype="float32", name=f"dense_{name}"
    )(x)
    return _norm(x, name)


def rows_to_learn_from(images: Images) -> int:
    """How many of `images` features are learned from."""
    return min(len(images), TRAINED_ON, max(1, TRAINED_BYTES // images[:1].nbytes))


class Network:
    """A trained backbone: images [n, H, W, C] uint8 -> outputs, each image on its own."""

    def __init__(self, model: keras.Model, shape: Sequence[int]) -> None:
        size = int(np.prod(shape))
        self._rows = max(1, min(_ROWS, _ROWS * 64 * 64 * 3 // size))
        signature = [tf.TensorSpec([self._rows, *shape], tf.uint8)]
        self._call = tf.function(
            lambda images: model(tf.cast(images, tf.float32), training=False),
            signature,
            autograph=False,
        )

    def __call__(self, images: Images) -> Singles:
        """Outputs [n, d] of `images` [n, H, W, C]."""
        found = []
        with tf.device(DEVICE):
            for start in range(0, len(images), self._rows):
                part = images[start : start + self._rows]
                # always the same shape: traced once, and an image's features do not depend on how
                # many come with it
                whole = np.pad(part, [(0, self._rows - len(part)), (0, 0), (0, 0), (0, 0)])
                found.append(self._call(whole).numpy()[: len(part)])
        return np.concatenate(found)


def _convolution(
    x: keras.KerasTensor, filters: int, kernel: int, stride: int, initial: Maker
) -> keras.KerasTensor:
    name = f"{filters}_{x.shape[1]}"
    x = keras.layers.Conv2D(
        filters,
        kernel,
        stride,
        "same",
        use_bias=False,
        kernel_initializer=initial(),
        dtype="float32",
        name=f"conv_{name}",
    )(x)
    return _norm(x, name)


def _norm(x: keras.KerasTensor, name: str) -> keras.KerasTensor:
    x = keras.layers.BatchNormalization(momentum=0.95, dtype="float32", name=f"norm_{name}")(x)
    return keras.layers.ReLU(dtype="float32", name=f"relu_{name}")(x)
