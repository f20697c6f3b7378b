"""The features of the standard FID and KID, computed in TensorFlow: the 2,048 pooled features of
InceptionV3 at 299x299 pixels (Heusel et al. 2017, section 3; Binkowski et al. 2018, section 4).

The network is Keras's InceptionV3, trained on ImageNet, not the Inception graph of 2015 that the
reference implementation of the FID loads: distances are of the same kind, but not the same numbers.
Images are resized as that implementation does, by TensorFlow 1's bilinear rule, whose samples are
not centred on pixels and do not average when they shrink.
"""

from __future__ import annotations

import random
from pathlib import Path

import h5py
import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.config import ConfigError
from ganboard.gan.data.dataset import Images
from ganboard.gan.files import measure
from ganboard.gan.quality import inception_weights
from ganboard.gan.quality.backbone import DEVICE
from ganboard.gan.quality.extract import Singles
from ganboard.gan.settings.features import INCEPTION, Source

SIDE = 299  # pixels
FEATURES = 2048
_ROWS = 25  # images per call


class Inception:
    """See `gan.quality.extract.Features`; grey images are taken as three equal channels."""

    dimensions = FEATURES
    # 6 billion multiplications for each image
    bound: int | None = 2_000

    def __init__(self, path: Path) -> None:
        """Read the weights in `path`, a file of `inception_weights`. Raises ConfigError."""
        self.source = Source(INCEPTION, measure(path)[1][:16])
        self.remarks: list[str] = []
        with tf.device(DEVICE):
            network = _network()
            try:
                network.set_weights(_weights(path))
            # h5py and Keras raise many kinds of error for a file that is not what it should be
            except Exception as error:
                reason = " ".join(str(error).split())[:200] or type(error).__name__
                raise ConfigError(
                    f"{path} cannot be read as the weights of InceptionV3 ({reason}). Delete it,"
                    f" and copy {inception_weights.ORIGIN}{inception_weights.NAME} there."
                ) from error
        signature = [tf.TensorSpec([_ROWS, None, None, 3], tf.uint8)]
        self._call = tf.function(
            lambda images: network(resized(images), training=False), signature, autograph=False
        )

    def __call__(self, images: Images) -> Singles:
        """Features [n, FEATURES] of `images` [n, H, W, 1 or 3]."""
        found = np.empty((len(images), FEATURES), np.float32)
        with tf.device(DEVICE):
            for start in range(0, len(images), _ROWS):
                part = images[start : start + _ROWS]
                coloured = np.broadcast_to(part, (*part.shape[:3], 3))
                # always the same number, so that an image's features do not depend on it
                padding = [(0, _ROWS - len(part)), (0, 0), (0, 0), (0, 0)]
                whole = self._call(np.pad(coloured, padding))
                found[start : start + len(part)] = whole[: len(part)]
        return found


def obtain(data_dir: Path | None = None) -> Inception:
    """The network with its weights, from `data_dir` or Keras's cache, or downloaded. Raises
    ConfigError."""
    return Inception(inception_weights.obtain(data_dir))


def resized(images: tf.Tensor) -> tf.Tensor:
    """Grey levels [n, H, W, 3] 0..255 -> [n, 299, 299, 3] in [-1, 1], as Keras's weights expect."""
    large = tf.raw_ops.ResizeBilinear(
        images=tf.cast(images, tf.float32),
        size=[SIDE, SIDE],
        align_corners=False,
        half_pixel_centers=False,
    )
    return large / 127.5 - 1


def _weights(path: Path) -> list[npt.NDArray[np.float32]]:
    """The arrays of Keras's older HDF5 format, layer by layer: numbers alone, nothing that runs."""
    with h5py.File(path, "r") as file:
        layers = [file[_text(name)] for name in file.attrs["layer_names"]]
        return [layer[_text(name)][()] for layer in layers for name in layer.attrs["weight_names"]]


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _network() -> keras.Model:
    """Keras's own, in float32 whatever policy is set; its initial weights, which are replaced, take
    nothing from Python's random numbers, from which Keras draws seeds."""
    policy, state = keras.config.dtype_policy(), random.getstate()
    try:
        keras.config.set_dtype_policy("float32")
        return keras.applications.InceptionV3(
            include_top=False, weights=None, pooling="avg", input_shape=(SIDE, SIDE, 3)
        )
    finally:
        keras.config.set_dtype_policy(policy)
        random.setstate(state)
