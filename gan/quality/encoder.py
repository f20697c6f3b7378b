"""The encoder whose features evaluate images without labels: a small convolutional network that is
taught to tell by how many quarter turns an image was rotated (Gidaris, Singh & Komodakis 2018,
"Unsupervised Representation Learning by Predicting Image Rotations"), once per data set, and kept.

To tell rotations apart it has to know what is up in these images: shapes, their parts, and the
edges that blur and noise take away. `docs/quality.md` shows how its distances order real, noisy,
blurred and missing images, and what two other encoders did.
"""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.data.dataset import Images
from ganboard.gan.quality import backbone, extract
from ganboard.gan.quality.backbone import DEVICE, FEATURES, SEED, Network
from ganboard.gan.quality.cache import Arrays, kept
from ganboard.gan.quality.extract import Progress, Singles
from ganboard.gan.rng import philox
from ganboard.gan.rng.philox import Purpose
from ganboard.gan.settings.features import ENCODER, Source

HELD_OUT = 6  # one image in this many is held out to find the accuracy
TURNS = 4
POOR = 0.4  # accuracy; guessing has 0.25

# raise it with any change of the network or its training: encoders of another recipe are not used
_RECIPE = 1
_BATCH = 128
_EPOCHS, _STEPS = 24, 300  # maximum epochs, and maximum steps
_RATE = 2e-3
_SHIFT = 8  # images are shifted by up to a side / _SHIFT before they are rotated


class Encoder:
    """A trained encoder; see `gan.quality.extract.Features`."""

    dimensions = FEATURES
    bound: int | None = 20_000

    def __init__(
        self, arrays: Arrays, remarks: list[str], digest: str, shape: tuple[int, ...]
    ) -> None:
        self.source = Source(ENCODER, digest)
        # share of right answers on rotated images that it was not trained on
        self.accuracy = float(arrays["accuracy"])
        self.remarks = remarks
        if self.accuracy < POOR:
            self.remarks.append(
                f"The encoder tells the rotation of only {self.accuracy:.0%} of these images, where"
                " guessing has 25 %: its features say little about their content, so trust"
                " differences in FID less, or set quality_features=inception."
            )
        with tf.device(DEVICE):
            trunk, whole = _networks(shape)
            whole.set_weights([arrays[f"weight_{i}"] for i in range(len(whole.weights))])
        self._take = Network(trunk, shape)

    def __call__(self, images: Images) -> Singles:
        """Features [n, FEATURES] of `images` [n, H, W, C]."""
        return self._take(images)


def obtain(name: str, images: Images, cache_dir: Path, progress: Progress) -> Encoder:
    """The encoder of square `images` [N, S, S, C], read from `cache_dir` or trained, which takes a
    minute, and kept there. At most `backbone.TRAINED_ON` images are read.

    `progress` is called with the finished share of the training, 0 to 1, a few times a second; an
    exception that it raises ends the training.
    """
    assert not tf.distribute.has_strategy(), (
        "the encoder is one copy on one device: obtain it outside the strategy's scope"
    )
    rows = extract.order(len(images))[: backbone.rows_to_learn_from(images)]
    digest = extract.digest(f"{ENCODER} {_RECIPE}", images, rows)
    shape = images.shape[1:]
    arrays, remarks = kept(
        cache_dir / f"{name}-{ENCODER}-{digest}.npz", lambda: _train(images, rows, progress)
    )
    return Encoder(arrays, remarks, digest, shape)


def _networks(shape: tuple[int, ...]) -> tuple[keras.Model, keras.Model]:
    """Pixels -> features, and pixels -> logits [n, TURNS]; both share their weights."""
    initial = backbone.initializers()
    trunk = backbone.network(shape, initial)
    logits = keras.layers.Dense(TURNS, kernel_initializer=initial(), dtype="float32", name="turns")(
        trunk.output
    )
    return trunk, keras.Model(trunk.input, logits, name="encoder")


def _train(images: Images, rows: npt.NDArray[np.int32], progress: Progress) -> Arrays:
    held_out, trained = np.split(rows, [len(rows) // HELD_OUT])
    steps = min(_STEPS, -(-_EPOCHS * len(trained) // _BATCH))
    epochs = -(-steps * _BATCH // len(trained))
    orders = [trained[philox.order(SEED, epoch, len(trained))] for epoch in range(1, epochs + 1)]
    drawn = np.concatenate(orders)
    with tf.device(DEVICE):
        _, whole = _networks(images.shape[1:])
        variables = whole.trainable_variables
        optimizer = keras.optimizers.Adam(
            keras.optimizers.schedules.CosineDecay(_RATE, steps), name="encoder_adam"
        )
        optimizer.build(variables)

        @tf.function(autograph=False)  # type: ignore[untyped-decorator]
        def update(pixels: tf.Tensor, turns: tf.Tensor) -> None:
            with tf.GradientTape() as tape:
                logits = whole(tf.cast(pixels, tf.float32), training=True)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(turns, logits))
            optimizer.apply(tape.gradient(loss, variables), variables)

        for step in range(steps):
            chosen = images[drawn[step * _BATCH : (step + 1) * _BATCH]]
            update(*rotated(chosen, step))
            if step % 20 == 0:
                progress(step / steps)
    arrays = {f"weight_{i}": weight for i, weight in enumerate(whole.get_weights())}
    accuracy = _accuracy(Network(whole, images.shape[1:]), images, held_out)
    progress(1.0)
    return arrays | {"accuracy": np.asarray(accuracy)}


def rotated(images: Images, draw: int) -> tuple[Images, npt.NDArray[np.int64]]:
    """`images` [n, S, S, C] shifted a little and turned, and by how many quarters each [n]: a
    function of the number of the `draw`."""
    count, side = images.shape[:2]
    reach = side // _SHIFT
    random = philox.words(SEED, Purpose.QUALITY, draw, 3 * count).reshape(3, count)
    down, right = (random[:2] % np.uint64(2 * reach + 1)).astype(np.int64)
    turns = (random[2] % np.uint64(TURNS)).astype(np.int64)
    wide = np.pad(images, [(0, 0), (reach, reach), (reach, reach), (0, 0)], mode="edge")
    along = np.arange(side)
    vertical = (down[:, np.newaxis] + along)[:, :, np.newaxis]
    horizontal = (right[:, np.newaxis] + along)[:, np.newaxis, :]
    shifted = wide[np.arange(count)[:, np.newaxis, np.newaxis], vertical, horizontal]
    for quarters in range(1, TURNS):
        which = turns == quarters
        shifted[which] = np.rot90(shifted[which], quarters, axes=(1, 2))
    return shifted, turns


def _accuracy(network: Network, images: Images, rows: npt.NDArray[np.int32]) -> float:
    right = total = 0
    for draw, part in enumerate(extract.portions(images, rows), _STEPS):
        pixels, turns = rotated(part, draw)
        right += int((network(pixels).argmax(1) == turns).sum())
        total += len(part)
    return right / max(total, 1)
