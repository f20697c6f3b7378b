"""Augmentation whose random numbers are functions of (seed, draw, row): flips of the data, and
DiffAugment (Zhao et al. 2020, "Differentiable Augmentation for Data-Efficient GAN Training").

Numbers are drawn outside of the gradient function, as dropout masks are; what applies them is pure,
differentiable as often as a penalty asks, and made of operations that XLA compiles.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from ganboard.gan.rng.philox import Purpose
from ganboard.gan.rng.streams import Streams

# what DiffAugment does, in the order in which it is done
COLOR, TRANSLATION, CUTOUT = "color", "translation", "cutout"
POLICIES = (COLOR, TRANSLATION, CUTOUT)

WIDTH = 7  # numbers of an example
# of an example's numbers; its column is the same whatever the policy
_BRIGHTNESS, _SATURATION, _CONTRAST, _SHIFT_Y, _SHIFT_X, _HOLE_Y, _HOLE_X = range(WIDTH)
_SHIFT = 1 / 8  # largest translation, as a share of the side
_HOLE = 1 / 2  # side of the square that is cut out, as a share


def flipped(
    random: Streams, seed: int, images: tf.Tensor, draw: tf.Tensor, row: tf.Tensor
) -> tf.Tensor:
    """`images` [rows, H, W, C] of any type, from global row `row` on, each mirrored left to right
    with probability 1/2."""
    chance = random.uniform(seed, Purpose.FLIPS, draw, row, images.shape[0], 1)
    return tf.where(chance[:, :, None, None] < 0.5, tf.reverse(images, [2]), images)


def draws(
    random: Streams, seed: int, purpose: Purpose, draw: tf.Tensor, row: tf.Tensor, rows: int
) -> tf.Tensor:
    """What DiffAugment does to `rows` examples from global row `row` on: uniform numbers [rows,
    WIDTH]. Real and generated images are augmented by different ones: `Purpose.AUGMENT_REAL` and
    `Purpose.AUGMENT_FAKE`."""
    return random.uniform(seed, purpose, draw, row, rows, WIDTH)


def apply(images: tf.Tensor, numbers: tf.Tensor, policy: Sequence[str]) -> tf.Tensor:
    """`images` [rows, H, W, C] in [-1, 1], float, as DiffAugment with `policy` (some of POLICIES)
    shows them to the discriminator, both when it learns and when the generator does; `numbers`
    [rows, WIDTH] are of `draws`. Without a policy the images are returned as they are."""
    if unknown := set(policy) - set(POLICIES):
        raise ValueError(f"{sorted(unknown)} is no augmentation: choose of {', '.join(POLICIES)}.")
    if COLOR in policy:
        images = _recolored(images, numbers)
    if TRANSLATION in policy:
        images = _translated(images, *_shifts(images, numbers))
    if CUTOUT in policy:
        images = images * _kept(images, numbers)
    return images


def _recolored(images: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
    """Brightness by -0.5 to 0.5, saturation by 0 to 2, contrast by 0.5 to 1.5."""
    numbers = tf.cast(numbers, images.dtype)[:, :, None, None, None]
    images += numbers[:, _BRIGHTNESS] - 0.5
    grey = tf.reduce_mean(images, 3, keepdims=True)
    images = (images - grey) * (2 * numbers[:, _SATURATION]) + grey
    level = tf.reduce_mean(images, [1, 2, 3], keepdims=True)
    return (images - level) * (numbers[:, _CONTRAST] + 0.5) + level


def _shifts(images: tf.Tensor, numbers: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pixels down and to the right, [rows] int32 each."""
    found = []
    for side, column in zip(images.shape[1:3], (_SHIFT_Y, _SHIFT_X), strict=True):
        most = int(side * _SHIFT + 0.5)
        found.append(tf.cast(numbers[:, column] * float(2 * most + 1), tf.int32) - most)
    return found[0], found[1]


@tf.custom_gradient  # type: ignore[untyped-decorator]
def _translated(images: tf.Tensor, down: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """Each image moved by its own number of pixels, with zeros behind it.

    The adjoint of a translation is that by the opposite vector, which needs no scatter.
    """

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, None, None]:
        return _translated(upstream, -down, -right), None, None

    moved = images
    for axis, shift in ((1, down), (2, right)):
        side = images.shape[axis]
        place = tf.range(side)[None, :] - shift[:, None]
        inside = (place >= 0) & (place < side)
        moved = tf.gather(moved, tf.clip_by_value(place, 0, side - 1), axis=axis, batch_dims=1)
        mask = inside[:, :, None, None] if axis == 1 else inside[:, None, :, None]
        moved = tf.where(mask, moved, tf.zeros_like(moved))
    return moved, gradient


def _kept(images: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
    """One [rows, H, W, 1], but zero in a square of half the side, some of which may lie outside."""
    outside = []
    for side, column in zip(images.shape[1:3], (_HOLE_Y, _HOLE_X), strict=True):
        hole = int(side * _HOLE + 0.5)
        middle = tf.cast(numbers[:, column] * float(side + 1 - hole % 2), tf.int32)
        place = tf.range(side)[None, :] - (middle[:, None] - hole // 2)
        outside.append((place < 0) | (place >= hole))
    kept = outside[0][:, :, None] | outside[1][:, None, :]
    return tf.cast(kept, images.dtype)[..., None]
