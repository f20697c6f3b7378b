from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import parse
from ganboard.gan.rng import hash as hashed
from ganboard.gan.rng import streams, tf_hash, tf_philox
from ganboard.gan.rng.philox import Purpose

SEED, DRAW, FIRST = 2**31 - 1, 2**40 + 7, 5
WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda function: function,
    "graph": lambda function: tf.function(function, autograph=False),
    "XLA": lambda function: tf.function(function, jit_compile=True, autograph=False),
}


def of(function: Any, rows: int = 8, width: int = 1001, first: int = FIRST) -> Any:
    return lambda: function(
        SEED, Purpose.NOISE, tf.constant(DRAW, tf.int64), tf.constant(first), rows, width
    )


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One way to compute; the functions' own use of XLA is off, as on a TPU."""
    devices = tf.config.list_logical_devices
    monkeypatch.setattr(
        tf.config, "list_logical_devices", lambda kind=None: kind == "TPU" or devices(kind)
    )
    return WAYS[request.param]


@pytest.mark.parametrize("own_xla", [False, True])
def test_numpy_and_every_way_to_compute_give_equal_bits(
    way: Any, own_xla: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if own_xla:
        monkeypatch.undo()
    words = hashed.words(SEED, Purpose.NOISE, DRAW, FIRST, 8, 1001)
    np.testing.assert_array_equal(way(of(tf_hash.first_words))().numpy(), words[0])
    np.testing.assert_array_equal(way(of(tf_hash.uniform))().numpy(), hashed.uniform(words[0]))
    # bits, and not values: a compiler that rounds otherwise is found here
    normal = way(of(tf_hash.normal, 64, 5000))().numpy()
    words = hashed.words(SEED, Purpose.NOISE, DRAW, FIRST, 64, 5000)
    np.testing.assert_array_equal(normal.view(np.int32), hashed.normal(words).view(np.int32))


@pytest.mark.parametrize("rate", [0.2, 0.3, 0.5])
def test_masks_are_the_words_against_the_rate(rate: float) -> None:
    draw, shapes = tf.constant(DRAW, tf.int64), [(7, 3, 4), (101,), (7, 3, 4)]
    masks = tf_hash.masks(SEED, rate, draw, tf.constant(FIRST), 6, shapes)
    for i, (mask, shape) in enumerate(zip(masks, shapes, strict=True)):
        words = hashed.words(SEED, Purpose.DROPOUT + i, DRAW, FIRST, 6, int(np.prod(shape)))[0]
        wanted = hashed.kept(words, rate).reshape(6, *shape)
        np.testing.assert_array_equal(mask.numpy(), wanted)
        kept = tf_hash.keep(SEED, i, rate, draw, tf.constant(FIRST), 6, int(np.prod(shape)))
        np.testing.assert_array_equal(kept.numpy(), wanted.reshape(6, -1))


def test_a_rate_of_zero_keeps_all() -> None:
    assert tf_hash.keep(0, 0, 0.0, tf.constant(0), tf.constant(0), 64, 1000).numpy().all()


@pytest.mark.parametrize("function", [tf_hash.normal, tf_hash.uniform])
@pytest.mark.parametrize("width", [1, 101])
def test_a_replica_draws_exactly_its_rows_of_the_global_batch(function: Any, width: int) -> None:
    whole = of(function, 12, width, 0)().numpy()
    for first, rows in ((0, 4), (4, 4), (3, 9)):
        part = of(function, rows, width, first)().numpy()
        np.testing.assert_array_equal(part, whole[first : first + rows])


def test_the_last_row_and_the_largest_seed_are_drawn() -> None:
    words = hashed.words(SEED, Purpose.NOISE, DRAW, 2**31 - 1, 1, 3)[0]
    np.testing.assert_array_equal(of(tf_hash.first_words, 1, 3, 2**31 - 1)().numpy(), words)


def test_the_setting_chooses_the_generator() -> None:
    assert streams.of(parse({})) is tf_philox
    assert streams.of(parse({"rng": "hash"})) is tf_hash
