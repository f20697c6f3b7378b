"""Flips and DiffAugment: what they do, whose numbers they are, and their gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.data import augmentation
from ganboard.gan.data.augmentation import POLICIES
from ganboard.gan.rng import tf_hash, tf_philox
from ganboard.gan.rng.philox import Purpose

SIDE = 32
IMAGES = np.random.default_rng(0).uniform(-1, 1, (6, SIDE, SIDE, 3)).astype(np.float32)
# the hash is compiled, which takes seconds
GENERATORS = [tf_philox, pytest.param(tf_hash, marks=pytest.mark.thorough)]
SUBSETS = [subset for n in range(4) for subset in itertools.combinations(POLICIES, n)]


def draws(random: Any = tf_philox, draw: int = 5, row: int = 0, rows: int = 6) -> tf.Tensor:
    return augmentation.draws(
        random, 3, Purpose.AUGMENT_REAL, tf.constant(draw, tf.int64), tf.constant(row), rows
    )


def constant(**columns: float) -> tf.Tensor:
    """Numbers of one example: 0.5 changes no colour and moves nothing."""
    names = ("brightness", "saturation", "contrast", "down", "right", "hole_y", "hole_x")
    return tf.constant([[columns.get(name, 0.5) for name in names]])


@pytest.mark.parametrize("random", GENERATORS)
def test_replicas_draw_the_rows_of_one(random: Any) -> None:
    whole = draws(random)
    parts = [draws(random, row=row, rows=2) for row in (0, 2, 4)]
    np.testing.assert_array_equal(whole, tf.concat(parts, 0))
    assert np.abs(whole - draws(random, draw=6)).min() > 0
    other = augmentation.draws(
        random, 3, Purpose.AUGMENT_FAKE, tf.constant(5, tf.int64), tf.constant(0), 6
    )
    assert np.abs(whole - other).min() > 0
    once = augmentation.apply(tf.constant(IMAGES), whole, POLICIES)
    pieces = [
        augmentation.apply(IMAGES[2 * i : 2 * i + 2], part, POLICIES)
        for i, part in enumerate(parts)
    ]
    np.testing.assert_array_equal(once, tf.concat(pieces, 0))


@pytest.mark.parametrize("random", GENERATORS)
def test_flips_are_functions_of_seed_draw_and_row(random: Any) -> None:
    images = tf.constant((IMAGES * 127 + 128).astype(np.uint8))

    def flipped(draw: int, row: int, part: tf.Tensor) -> Any:
        return augmentation.flipped(
            random, 3, part, tf.constant(draw, tf.int64), tf.constant(row)
        ).numpy()

    whole = flipped(1, 0, images)
    parts = np.concatenate([flipped(1, 0, images[:2]), flipped(1, 2, images[2:])])
    np.testing.assert_array_equal(whole, parts)
    seen = set()
    for draw in range(8):
        for made, image in zip(flipped(draw, 0, images), images.numpy(), strict=True):
            mirrored = np.array_equal(made, image[:, ::-1])
            assert mirrored or np.array_equal(made, image)
            seen.add(mirrored)
    assert seen == {True, False}


def test_half_of_many_are_flipped() -> None:
    ramp = np.broadcast_to(np.arange(2, dtype=np.uint8)[None, None, :, None], (4000, 1, 2, 1))
    found = augmentation.flipped(
        tf_philox, 0, tf.constant(ramp), tf.constant(0, tf.int64), tf.constant(0)
    )
    assert abs(float(np.mean(found[:, 0, 0, 0] == 1)) - 0.5) < 0.03


def test_no_policy_is_the_identity() -> None:
    images = tf.constant(IMAGES)
    assert augmentation.apply(images, draws(), ()) is images
    unchanged = augmentation.apply(images[:1], constant(), ("color", "translation"))
    np.testing.assert_allclose(unchanged, IMAGES[:1], atol=1e-6)
    with pytest.raises(ValueError, match=r"\['colour'\] is no augmentation: choose of color,"):
        augmentation.apply(images, draws(), ("colour",))


def test_colours_are_those_of_the_formulas() -> None:
    x = IMAGES[0].astype(np.float64)
    found = augmentation.apply(
        IMAGES[:1], constant(brightness=0.9, saturation=0.1, contrast=0.8), ("color",)
    )
    bright = x + 0.4
    grey = bright.mean(-1, keepdims=True)
    saturated = (bright - grey) * 0.2 + grey
    expected = (saturated - saturated.mean()) * 1.3 + saturated.mean()
    np.testing.assert_allclose(found[0], expected, atol=1e-5)


@pytest.mark.parametrize(("number", "pixels"), [(0.0, -4), (0.5, 0), (0.999, 4), (0.6, 1)])
def test_translations_leave_zeros(number: float, pixels: int) -> None:
    down = augmentation.apply(IMAGES[:1], constant(down=number), ("translation",)).numpy()[0]
    right = augmentation.apply(IMAGES[:1], constant(right=number), ("translation",)).numpy()[0]
    expected = np.zeros_like(IMAGES[0])
    expected[max(0, pixels) : SIDE + min(0, pixels)] = IMAGES[0][
        max(0, -pixels) : SIDE - max(0, pixels)
    ]
    np.testing.assert_array_equal(down, expected)
    turned = augmentation.apply(
        IMAGES[:1].transpose(0, 2, 1, 3), constant(down=number), ("translation",)
    )
    np.testing.assert_array_equal(right, turned.numpy()[0].transpose(1, 0, 2))


def test_a_square_of_half_the_side_is_cut_out() -> None:
    found = augmentation.apply(IMAGES[:1], constant(), ("cutout",)).numpy()[0]
    expected = IMAGES[0].copy()
    expected[8:24, 8:24] = 0
    np.testing.assert_array_equal(found, expected)
    corner = augmentation.apply(IMAGES[:1], constant(hole_y=0.0, hole_x=0.999), ("cutout",))
    expected = IMAGES[0].copy()
    expected[:8, 24:] = 0
    np.testing.assert_array_equal(corner.numpy()[0], expected)


@pytest.mark.parametrize("policy", SUBSETS, ids=["-".join(policy) or "none" for policy in SUBSETS])
def test_gradients_are_those_of_a_linear_map(policy: tuple[str, ...]) -> None:
    """Every augmentation is affine in the image, so <A'u, v> = <u, A v - A 0>, and its gradient's
    gradient is the map again."""
    numbers = draws()
    u, v = (np.random.default_rng(i).normal(size=IMAGES.shape).astype(np.float32) for i in (1, 2))
    x, direction = tf.constant(IMAGES), tf.constant(u)
    with tf.GradientTape() as outer:
        outer.watch(direction)
        with tf.GradientTape() as tape:
            tape.watch(x)
            made = augmentation.apply(x, numbers, policy)
            product = tf.reduce_sum(made * direction)
        pulled = tape.gradient(product, x)
        again = tf.reduce_sum(pulled * v)
    zero = augmentation.apply(tf.zeros_like(x), numbers, policy)
    moved = augmentation.apply(tf.constant(v), numbers, policy) - zero
    scale = float(np.linalg.norm(u) * np.linalg.norm(v))
    assert abs(float(tf.reduce_sum(pulled * v) - tf.reduce_sum(u * moved))) < 1e-5 * scale
    assert float(tf.reduce_max(tf.abs(pulled))) > 0
    np.testing.assert_allclose(outer.gradient(again, direction), moved, atol=1e-4)


def test_xla_compiles_forward_and_backward() -> None:
    numbers = draws()

    def pulled(images: tf.Tensor, numbers: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(images)
            made = augmentation.apply(images, numbers, POLICIES)
            value = tf.reduce_sum(made**2)
        return made, tape.gradient(value, images)

    compiled = tf.function(pulled, jit_compile=True, autograph=False)
    for one, other in zip(
        compiled(IMAGES, numbers), pulled(tf.constant(IMAGES), numbers), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("kind", [tf.bfloat16, tf.float16])
def test_half_precision_stays(kind: tf.DType) -> None:
    made = augmentation.apply(tf.cast(IMAGES, kind), draws(), POLICIES)
    assert made.dtype == kind
    exact = augmentation.apply(tf.constant(IMAGES), draws(), POLICIES)
    np.testing.assert_allclose(tf.cast(made, tf.float32), exact, atol=0.05)
