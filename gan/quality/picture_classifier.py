"""The classifier whose features evaluate images with labels of any size and colour, trained once
per data set and kept. Grey images of 28x28 pixels have `classifier`, whose numbers stay.
"""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.data.dataset import Images, Labels
from ganboard.gan.quality import backbone, extract
from ganboard.gan.quality.backbone import DEVICE, FEATURES, SEED, Network
from ganboard.gan.quality.cache import Arrays, kept
from ganboard.gan.quality.extract import Progress, Singles
from ganboard.gan.quality.metrics import Reals, class_shares
from ganboard.gan.rng import philox
from ganboard.gan.settings.features import CLASSIFIER, Source

HELD_OUT = 6  # one image in this many is held out to find the accuracy

# raise it with any change of the network or its training: classifiers of another recipe are not
# used
_RECIPE = 1
_NET = 4  # of `philox.layer_seed`
_BATCH = 128
_EPOCHS, _STEPS = 24, 400  # maximum epochs, and maximum steps
_RATE = 2e-3


class PictureClassifier:
    """A trained classifier; see `gan.quality.extract.Features`."""

    dimensions = FEATURES
    bound: int | None = 20_000

    def __init__(
        self, arrays: Arrays, remarks: list[str], digest: str, shape: tuple[int, ...]
    ) -> None:
        self.source = Source(CLASSIFIER, digest)
        self.accuracy = float(arrays["accuracy"])  # on the images it was not trained on
        # [classes] of each class in the data set, as this classifier sees it
        self.shares: Reals = arrays["shares"]
        self.remarks = remarks
        with tf.device(DEVICE):
            network = _network(shape, len(self.shares))
            network.set_weights([arrays[f"weight_{i}"] for i in range(len(network.weights))])
        self._see = Network(network, shape)

    def __call__(self, images: Images) -> Singles:
        """Features [n, FEATURES] of `images` [n, H, W, C]."""
        return self.classify(images)[0]

    def classify(self, images: Images) -> tuple[Singles, Labels]:
        """Features [n, FEATURES] and classes [n] of `images` [n, H, W, C]."""
        seen = self._see(images)
        return seen[:, :FEATURES], seen[:, FEATURES:].argmax(1)


def obtain(
    name: str, images: Images, labels: Labels, cache_dir: Path, progress: Progress
) -> PictureClassifier:
    """The classifier of `images` [N, H, W, C] with `labels` [N], read from `cache_dir` or trained,
    which takes a minute, and kept there. At most `backbone.TRAINED_ON` images are read.

    `progress` is called with the finished share of the training, 0 to 1, a few times a second; an
    exception that it raises ends the training.
    """
    assert not tf.distribute.has_strategy(), (
        "the classifier is one copy on one device: obtain it outside the strategy's scope"
    )
    rows = extract.order(len(images))[: backbone.rows_to_learn_from(images)]
    digest = extract.digest(f"{CLASSIFIER} {_RECIPE}", images, rows, labels)
    shape = images.shape[1:]
    arrays, remarks = kept(
        cache_dir / f"{name}-{CLASSIFIER}-{digest}.npz",
        lambda: _train(images, labels, rows, progress),
    )
    return PictureClassifier(arrays, remarks, digest, shape)


def _network(shape: tuple[int, ...], classes: int) -> keras.Model:
    """Pixels -> features and logits beside each other [n, FEATURES + classes]."""
    initial = backbone.initializers(_NET)
    trunk = backbone.network(shape, initial)
    logits = keras.layers.Dense(
        classes, kernel_initializer=initial(), dtype="float32", name="logits"
    )(trunk.output)
    both = keras.layers.Concatenate(dtype="float32", name="both")([trunk.output, logits])
    return keras.Model(trunk.input, both, name="picture_classifier")


def _train(
    images: Images, labels: Labels, rows: npt.NDArray[np.int32], progress: Progress
) -> Arrays:
    held_out, trained = np.split(rows, [len(rows) // HELD_OUT])
    steps = min(_STEPS, -(-_EPOCHS * len(trained) // _BATCH))
    epochs = -(-steps * _BATCH // len(trained))
    orders = [trained[philox.order(SEED, epoch, len(trained))] for epoch in range(1, epochs + 1)]
    drawn = np.concatenate(orders)
    shape, classes = images.shape[1:], int(labels.max()) + 1
    with tf.device(DEVICE):
        network = _network(shape, classes)
        variables = network.trainable_variables
        optimizer = keras.optimizers.Adam(
            keras.optimizers.schedules.CosineDecay(_RATE, steps), name="picture_classifier_adam"
        )
        optimizer.build(variables)

        @tf.function(autograph=False)  # type: ignore[untyped-decorator]
        def update(pixels: tf.Tensor, wanted: tf.Tensor) -> None:
            with tf.GradientTape() as tape:
                logits = network(tf.cast(pixels, tf.float32), training=True)[:, FEATURES:]
                loss = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, logits)
                )
            optimizer.apply(tape.gradient(loss, variables), variables)

        for step in range(steps):
            chosen = drawn[step * _BATCH : (step + 1) * _BATCH]
            update(images[chosen], labels[chosen])
            if step % 20 == 0:
                progress(step / steps)
    see = Network(network, shape)
    seen = np.concatenate(
        [see(part)[:, FEATURES:].argmax(1) for part in extract.portions(images, rows)]
    )
    arrays = {f"weight_{i}": weight for i, weight in enumerate(network.get_weights())}
    progress(1.0)
    right = seen[: len(held_out)] == labels[held_out]
    return arrays | {"accuracy": np.asarray(np.mean(right)), "shares": class_shares(seen, classes)}
