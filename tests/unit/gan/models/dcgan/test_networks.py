from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.layers.masked_dropout import MaskedDropout
from ganboard.gan.models.dcgan import networks as dcgan
from ganboard.gan.models.dcgan.config import Config

TABLE_1_GENERATOR = [
    ("dense", (12544,)),
    ("norm_0", (12544,)),
    ("leaky_0", (12544,)),
    ("reshape", (7, 7, 256)),
    ("up_1", (7, 7, 128)),
    ("norm_1", (7, 7, 128)),
    ("leaky_1", (7, 7, 128)),
    ("up_2", (14, 14, 64)),
    ("norm_2", (14, 14, 64)),
    ("leaky_2", (14, 14, 64)),
    ("up_3", (28, 28, 1)),
    ("tanh", (28, 28, 1)),
]
TABLE_1_DISCRIMINATOR = [
    ("down_0", (14, 14, 64)),
    ("leaky_0", (14, 14, 64)),
    ("dropout_0", (14, 14, 64)),
    ("down_1", (7, 7, 128)),
    ("leaky_1", (7, 7, 128)),
    ("dropout_1", (7, 7, 128)),
    ("flatten", (6272,)),
    ("logits", (1,)),
]


def shapes(model: object) -> list[tuple[str, tuple[int, ...]]]:
    layers = [layer for layer in model.layers if not layer.name.startswith(("image", "keep"))]
    return [(layer.name, tuple(layer.output.shape[1:])) for layer in layers]


def trainable(model: object) -> int:
    return sum(int(np.prod(v.shape)) for v in model.trainable_variables)


def test_layers_are_those_of_table_1() -> None:
    assert shapes(dcgan.generator(Config())) == TABLE_1_GENERATOR
    assert shapes(dcgan.discriminator(Config())) == TABLE_1_DISCRIMINATOR


def test_parameter_counts() -> None:
    g, d = dcgan.generator(Config()), dcgan.discriminator(Config())
    assert (g.count_params(), trainable(g)) == (2_330_944, 2_305_472)
    assert (d.count_params(), trainable(d)) == (212_865, 212_865)


def test_table_1_to_the_letter_has_a_second_transposed_convolution() -> None:
    g = dcgan.generator(Config(table1_literal=True))
    assert (g.count_params(), trainable(g)) == (2_740_032, 2_714_816)
    assert [name for name, _ in shapes(g)][4:7] == ["up_1", "up_4", "leaky_1"]


def test_batch_norm_in_the_discriminator_is_an_option() -> None:
    d = dcgan.discriminator(Config(discriminator_batch_norm=True))
    assert trainable(d) == 212_865 + 2 * 128
    assert "norm_1" in dict(shapes(d))


def test_latent_dim_sets_the_input() -> None:
    assert dcgan.generator(Config(latent_dim=7)).input_shape == (None, 7)


@pytest.mark.parametrize("precision", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_weights_images_and_logits_stay_float32(precision: str) -> None:
    config = Config(precision=precision)  # type: ignore[arg-type]
    g, d = dcgan.generator(config), dcgan.discriminator(config)
    images = g(tf.zeros([2, 100]), training=True)
    logits = d([images, None, None])
    assert images.dtype == logits.dtype == tf.float32
    assert {v.dtype for v in (*g.variables, *d.variables)} == {"float32"}
    wanted = precision.removeprefix("mixed_")
    assert g.get_layer("up_2").compute_dtype == d.get_layer("down_1").compute_dtype == wanted
    assert g.get_layer("tanh").compute_dtype == d.get_layer("logits").compute_dtype == "float32"


def test_initial_weights_follow_from_the_seed() -> None:
    def weights(seed: int) -> list[np.ndarray]:
        return [
            v.numpy()
            for build in (dcgan.generator, dcgan.discriminator)
            for v in build(Config(seed=seed)).variables
        ]

    for a, b in zip(weights(5), weights(5), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(weights(5), weights(6), strict=True))


def test_no_global_policy_remains() -> None:
    import keras

    dcgan.generator(Config(precision="mixed_bfloat16"))
    assert keras.config.dtype_policy().name == "float32"


def test_dropout_drops_what_the_mask_says_and_keeps_the_mean() -> None:
    layer = MaskedDropout(0.3)
    values, keep = tf.ones([1, 4]), tf.constant([[True, False, True, True]])
    np.testing.assert_allclose(layer([values, keep])[0], [1 / 0.7, 0, 1 / 0.7, 1 / 0.7], rtol=1e-6)
    np.testing.assert_array_equal(layer([values, None]), values)


def test_the_slope_is_0_3() -> None:
    layer = dcgan.discriminator(Config()).get_layer("leaky_0")
    np.testing.assert_allclose(layer(tf.constant([-1.0, 2.0])), [-0.3, 2.0], rtol=1e-6)
