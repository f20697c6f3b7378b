"""The layers of networks as tables."""

from __future__ import annotations

from ganboard.gan.layers import summary
from ganboard.gan.modeling import recipe
from ganboard.gan.presets import load


def test_the_table_is_that_of_keras() -> None:
    generator, discriminator = recipe.make(load("tiny")).networks()
    for network in (generator, discriminator):
        rows = summary.table(network)
        assert sum(row[3] for row in rows) == network.count_params()
        trained = sum(weight.shape.num_elements() for weight in network.trainable_weights)
        assert sum(row[4] for row in rows) == trained
    assert summary.table(generator)[0][1:] == ["Dense", "12544", 1_254_400, 1_254_400]
    name, kind, output, held, trained = summary.table(generator)[1]
    assert (kind, output, held, trained) == ("BatchNormalization", "12544", 50_176, 25_088)
    assert name
