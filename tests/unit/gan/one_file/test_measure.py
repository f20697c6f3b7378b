"""Costs read off networks, against counting by hand."""

from __future__ import annotations

import keras
from keras import layers

from ganboard.gan.one_file.measure import costs


def network() -> keras.Model:
    inner = keras.Sequential([keras.Input((4, 4, 8)), layers.BatchNormalization(name="norm")])
    picture = keras.Input((8, 8, 3))
    x = layers.Conv2D(8, 3, 2, "same", name="down")(picture)
    x = inner(x)
    x = layers.Conv2DTranspose(5, 4, 2, "same", use_bias=False, name="up")(x)
    x = layers.Dropout(0.5, name="drop")(layers.Flatten(name="flat")(x))
    return keras.Model(picture, layers.Dense(2, name="dense")(x))


def test_costs_are_those_of_counting_by_hand() -> None:
    found = {cost.name: cost for cost in costs(network())}
    assert list(found) == ["down", "norm", "up", "drop", "dense"]
    assert found["down"].macs == 4 * 4 * 8 * 3 * 3 * 3
    assert found["down"].parameters == 3 * 3 * 3 * 8 + 8
    assert (found["down"].entering, found["down"].leaving) == (8 * 8 * 3, 4 * 4 * 8)
    # a kernel meets each place of the smaller map once
    assert found["up"].macs == 4 * 4 * 8 * 4 * 4 * 5
    assert found["up"].parameters == 4 * 4 * 5 * 8
    assert found["dense"].macs == 8 * 8 * 5 * 2
    assert [name for name, cost in found.items() if cost.norm] == ["norm"]
    assert [name for name, cost in found.items() if cost.masked] == ["drop"]


def test_a_row_that_is_looked_up_is_no_product() -> None:
    label = keras.Input((), dtype="int32")
    [cost] = costs(keras.Model(label, layers.Embedding(10, 4)(label)))
    assert (cost.macs, cost.parameters, cost.leaving) == (0, 40, 4)
