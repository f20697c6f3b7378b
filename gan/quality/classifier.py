"""The classifier whose features evaluate grey images of 28x28 pixels: a small convolutional
network, trained once per data set and kept. Databases hold its numbers: it stays as it is.

All of it is explicit: seeds, names, precision float32, and the first CPU as its device. So it
changes nothing for the training around it, takes no memory of an accelerator, and evaluates alike
whatever trains.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.data.dataset import SIDE, Dataset, Images
from ganboard.gan.quality.cache import Arrays, kept
from ganboard.gan.quality.extract import Progress
from ganboard.gan.quality.metrics import Reals, class_shares
from ganboard.gan.rng import philox
from ganboard.gan.settings.features import CLASSIFIER, Source

FEATURES = 64
HELD_OUT = 6  # one image in this many is held out: 10,000 of MNIST's 60,000

# raise it with any change of the network or its training: classifiers of another recipe are not
# used
_RECIPE = 1
_SEED = 0
_NET = 2  # of `keys.layer_seed`, beside 0 (generator) and 1 (discriminator)
_BATCH = 128
_EPOCHS, _STEPS = 24, 800  # maximum epochs, and maximum steps
_RATE = 3e-3
_ROWS = 500  # images per call of the trained network
_DEVICE = "/CPU:0"


class Classifier:
    """A trained classifier; see `gan.quality.extract.Features`."""

    dimensions = FEATURES
    bound: int | None = None

    def __init__(self, arrays: Arrays, remarks: list[str], digest: str) -> None:
        self.source = Source(CLASSIFIER, digest)
        self.accuracy = float(arrays["accuracy"])  # on the images it was not trained on
        # [classes] of each class in the whole data set, as this classifier sees it
        self.shares: Reals = arrays["shares"]
        self.remarks = remarks  # sentences about its making that a person should read
        with tf.device(_DEVICE):
            network = _network(len(self.shares))
            network.set_weights([arrays[f"weight_{i}"] for i in range(len(network.weights))])
        self._see = _function(network)

    def __call__(self, images: Images) -> npt.NDArray[np.float32]:
        """Features [n, FEATURES] of `images` [n, 28, 28, 1]."""
        return self.classify(images)[0]

    def classify(self, images: Images) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Features [n, FEATURES] and classes [n] of `images` [n, 28, 28, 1]."""
        return _see(self._see, images)


def obtain(name: str, dataset: Dataset, cache_dir: Path, progress: Progress) -> Classifier:
    """The classifier of `dataset` (with labels), read from `cache_dir` or trained, which takes
    seconds, and kept there.

    `progress` is called with the finished share of the training, 0 to 1, a few times a second; an
    exception that it raises ends the training.
    """
    assert dataset.labels is not None
    assert not tf.distribute.has_strategy(), (
        "the classifier is one copy on one device: obtain it outside the strategy's scope"
    )
    labels = dataset.labels
    content = hashlib.sha256(f"{_RECIPE} {dataset.images.shape} ".encode())
    content.update(dataset.images.tobytes())
    content.update(labels.tobytes())
    digest = content.hexdigest()[:16]
    arrays, remarks = kept(
        cache_dir / f"{name}-{digest}.npz", lambda: _train(dataset.images, labels, progress)
    )
    return Classifier(arrays, remarks, digest)


def order(count: int) -> npt.NDArray[np.int32]:
    """A fixed random order [count] of the images of a data set; the classifier is not trained on
    the first count // HELD_OUT of them."""
    return philox.order(_SEED, 0, count)


def _network(classes: int) -> keras.Model:
    """Grey levels [n, 28, 28, 1] float32 0..255 -> (features [n, FEATURES], logits [n, classes]).

    Batch norm gives every feature a similar scale, so that distances and kernels need no other.
    """

    def initial(layer: int) -> keras.Initializer:
        return keras.initializers.HeUniform(philox.layer_seed(_SEED, _NET, layer))

    def norm(x: keras.KerasTensor, name: str) -> keras.KerasTensor:
        x = keras.layers.BatchNormalization(momentum=0.95, dtype="float32", name=f"norm_{name}")(x)
        return keras.layers.ReLU(dtype="float32", name=f"relu_{name}")(x)

    def down(x: keras.KerasTensor, filters: int, kernel: int, layer: int) -> keras.KerasTensor:
        options = {
            "use_bias": False,
            "kernel_initializer": initial(layer),
            "dtype": "float32",
            "name": f"down_{layer}",
        }
        return norm(keras.layers.Conv2D(filters, kernel, 2, "same", **options)(x), f"{layer}")

    image = keras.Input((SIDE, SIDE, 1), dtype="float32", name="image")
    x = keras.layers.Rescaling(1 / 127.5, -1, dtype="float32", name="scale")(image)
    x = down(down(x, 32, 5, 0), 64, 3, 1)
    x = keras.layers.Flatten(dtype="float32", name="flatten")(x)
    x = keras.layers.Dense(
        FEATURES, use_bias=False, kernel_initializer=initial(2), dtype="float32", name="dense"
    )(x)
    features = norm(x, "features")
    logits = keras.layers.Dense(
        classes, kernel_initializer=initial(3), dtype="float32", name="logits"
    )(features)
    return keras.Model(image, [features, logits], name="judge")


def _train(images: Images, labels: npt.NDArray[np.int64], progress: Progress) -> Arrays:
    mixed = order(len(images))
    held_out, trained = np.split(mixed, [len(images) // HELD_OUT])
    steps = min(_STEPS, -(-_EPOCHS * len(trained) // _BATCH))
    epochs = -(-steps * _BATCH // len(trained))
    rows = np.concatenate(
        [trained[philox.order(_SEED, epoch, len(trained))] for epoch in range(1, epochs + 1)]
    )
    classes = int(labels.max()) + 1
    with tf.device(_DEVICE):
        network = _network(classes)
        variables = network.trainable_variables
        optimizer = keras.optimizers.Adam(
            keras.optimizers.schedules.CosineDecay(_RATE, steps), name="judge_adam"
        )
        optimizer.build(variables)

        @tf.function(autograph=False)  # type: ignore[untyped-decorator]
        def update(images: tf.Tensor, labels: tf.Tensor) -> None:
            with tf.GradientTape() as tape:
                logits = network(tf.cast(images, tf.float32), training=True)[1]
                loss = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
                )
            optimizer.apply(tape.gradient(loss, variables), variables)

        for step in range(steps):
            chosen = rows[step * _BATCH : (step + 1) * _BATCH]
            update(images[chosen], labels[chosen])
            if step % 20 == 0:
                progress(step / steps)
    seen = _see(_function(network), images)[1]
    arrays = {f"weight_{i}": weight for i, weight in enumerate(network.get_weights())}
    progress(1.0)
    return arrays | {
        "accuracy": np.asarray(np.mean(seen[held_out] == labels[held_out])),
        "shares": class_shares(seen, classes),
    }


def _function(network: keras.Model) -> Callable[[Images], tuple[tf.Tensor, tf.Tensor]]:
    signature = [tf.TensorSpec([_ROWS, SIDE, SIDE, 1], tf.uint8)]

    def call(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return network(tf.cast(images, tf.float32), training=False)  # type: ignore[no-any-return]

    return tf.function(call, signature, autograph=False)  # type: ignore[no-any-return]


def _see(
    function: Callable[[Images], tuple[tf.Tensor, tf.Tensor]], images: Images
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    features, classes = (
        np.empty((len(images), FEATURES), np.float32),
        np.empty(len(images), np.int64),
    )
    with tf.device(_DEVICE):
        for start in range(0, len(images), _ROWS):
            part = images[start : start + _ROWS]
            # always the same shape: traced once, and an image's features do not depend on how many
            # come with it
            found, logits = function(np.pad(part, [(0, _ROWS - len(part)), (0, 0), (0, 0), (0, 0)]))
            features[start : start + _ROWS] = found[: len(part)]
            classes[start : start + _ROWS] = np.argmax(logits, 1)[: len(part)]
    return features, classes
