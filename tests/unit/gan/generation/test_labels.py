"""Latents and classes in one array, and taken apart again."""

from __future__ import annotations

import keras
import numpy as np

from ganboard.gan.generation import labels

LATENTS = np.arange(10, dtype=np.float32).reshape(5, 2)


def test_classes_follow_the_latents_one_after_the_other_or_all_alike() -> None:
    assert labels.joined(LATENTS, 0) is LATENTS
    in_turn = labels.joined(LATENTS, 3)
    assert in_turn.dtype == np.float32
    np.testing.assert_array_equal(in_turn[:, :2], LATENTS)
    assert list(in_turn[:, 2]) == [0, 1, 2, 0, 1]
    assert list(labels.joined(LATENTS, 3, 2)[:, 2]) == [2] * 5


def test_a_network_gets_what_it_takes() -> None:
    latents, label = keras.Input((2,)), keras.Input((), dtype="int32")
    mask = keras.Input((2,))
    plain = keras.Model(latents, latents + 1)
    masked = keras.Model([latents, mask], latents * mask)
    one_hot = keras.layers.Embedding(3, 2)(label)
    labelled = keras.Model([latents, label], latents + one_hot)
    assert labels.inputs(plain, LATENTS) is LATENTS
    points, none = labels.inputs(masked, LATENTS)
    assert points is LATENTS
    assert none is None
    points, classes = labels.inputs(labelled, labels.joined(LATENTS, 3))
    np.testing.assert_array_equal(points, LATENTS)
    assert list(classes.numpy()) == [0, 1, 2, 0, 1]
    assert [labels.is_labelled(one) for one in (plain, masked, labelled)] == [False, False, True]
