"""U-Net and PatchGAN against the published counts, maps and receptive field, and their losses on
numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.models.pix2pix import architecture, losses, networks
from ganboard.gan.models.pix2pix.config import Config

CONFIGS = {side: Config(geometry=f"{side}x{side}") for side in (64, 128, 256)}


@pytest.mark.parametrize(
    ("size", "parameters", "patches"),
    [(256, 54_425_859, 30), (128, 41_838_851, 14), (64, 29_251_843, 6)],
)
def test_as_many_parameters_and_patches_as_published(
    size: int, parameters: int, patches: int
) -> None:
    generator, discriminator = (
        networks.generator(CONFIGS[size], 3, 3),
        networks.discriminator(CONFIGS[size], 3, 3),
    )
    assert generator.count_params() == parameters
    assert discriminator.count_params() == 2_770_433
    if size == 256:
        assert [
            sum(int(np.prod(v.shape)) for v in net.trainable_variables)
            for net in (generator, discriminator)
        ] == [54_414_979, 2_768_641]
    assert generator.output.shape == (None, size, size, 3)
    assert discriminator.output.shape == (None, patches, patches, 1)
    dropped = [
        layer.output.shape[1:] for layer in generator.layers if layer.name.startswith("dropout")
    ]
    assert tuple(dropped) == architecture.masks(CONFIGS[size])


def test_the_encoder_reaches_one_pixel_and_the_decoder_comes_back_through_all_stages() -> None:
    maps = [
        layer.output.shape[1:]
        for layer in networks.generator(CONFIGS[256], 4, 3).layers
        if layer.name.startswith("conv")
    ]
    down, up = maps[:8], maps[8:]
    assert [shape[0] for shape in down] == [128, 64, 32, 16, 8, 4, 2, 1]
    assert [shape[2] for shape in down] == [64, 128, 256, 512, 512, 512, 512, 512]
    assert up == [
        (2, 2, 512),
        (4, 4, 512),
        (8, 8, 512),
        (16, 16, 512),
        (32, 32, 256),
        (64, 64, 128),
        (128, 128, 64),
        (256, 256, 3),
    ]


def test_a_patch_sees_seventy_pixels() -> None:
    net = networks.discriminator(CONFIGS[128], 1, 1)
    picture, target = (
        tf.Variable(tf.random.stateless_normal([1, 128, 128, 1], [1, 2])),
        tf.zeros([1, 128, 128, 1]),
    )
    with tf.GradientTape() as tape:
        logit = net([picture, target], training=False)[0, 7, 7, 0]
    seen = np.argwhere(tape.gradient(logit, picture).numpy()[0, :, :, 0] != 0)
    assert np.ptp(seen, axis=0).tolist() == [69, 69]


def test_without_masks_nothing_is_dropped_and_a_mask_drops_half() -> None:
    net = networks.generator(CONFIGS[64], 4, 3)
    picture = tf.random.stateless_normal([2, 64, 64, 4], [1, 2])
    keeps = [
        tf.cast(tf.random.stateless_uniform([2, *shape], [3, i]) < 0.5, tf.bool)
        for i, shape in enumerate(architecture.masks(CONFIGS[64]))
    ]
    plain, again = (net([picture, *[None] * len(keeps)], training=False).numpy() for _ in range(2))
    np.testing.assert_array_equal(plain, again)
    assert np.abs(plain - net([picture, *keeps], training=False).numpy()).max() > 1e-6
    assert np.abs(plain).max() <= 1


def test_losses_by_hand() -> None:
    logits = tf.constant([0.0, 2.0], shape=[1, 1, 2, 1])
    entropy = (np.log(2) + np.log1p(np.exp(-2.0))) / 2
    np.testing.assert_allclose(losses.patches(logits, True), [entropy], rtol=1e-6)
    np.testing.assert_allclose(losses.patches(logits, False), [entropy + 1], rtol=1e-6)
    np.testing.assert_allclose(losses.discriminator(logits, logits), [entropy + 0.5], rtol=1e-6)
    made, target = tf.zeros([1, 2, 2, 1]), tf.constant([0.0, 0.5, -0.5, 1.0], shape=[1, 2, 2, 1])
    np.testing.assert_allclose(
        losses.generator(CONFIGS[64], logits, made, target, made), [entropy + 50], rtol=1e-6
    )


def test_the_compact_u_net_has_three_sizes_and_no_statistics() -> None:
    config = Config(network="compact", width=16)
    net = networks.generator(config, 4, 3)
    sides = [layer.output.shape[1] for layer in net.layers if layer.name.startswith("conv")]
    assert sides == [64, 64, 32, 32, 16, 16, 32, 32, 64, 64, 64]
    assert not net.non_trainable_variables
    assert architecture.masks(config) == ()
    kernels = {v.path: v.shape for v in net.trainable_variables if "kernel" in v.path}
    assert [tuple(shape) for shape in kernels.values()][:3] == [
        (3, 3, 4, 16),
        (3, 3, 16, 16),
        (4, 4, 16, 32),
    ]


def test_what_leaves_a_channel_below_enters_above() -> None:
    picture = np.random.default_rng(0).normal(size=[1, 64, 64, 4]).astype(np.float32)
    differences = {}
    for padding in ("zeros", "edge", "channel"):
        config = Config(network="compact", width=8, padding=padding)
        net = networks.generator(config, 4, 3)
        assert net.count_params() == 39_003
        made, of_shifted = (net([np.roll(picture, by, axis=1)]).numpy() for by in (0, 8))
        differences[padding] = np.abs(of_shifted - np.roll(made, 8, axis=1)).max()
    assert differences["channel"] < 1e-5 < min(differences["edge"], differences["zeros"])


def test_width_narrows_both_networks() -> None:
    config = Config(width=8)
    assert networks.generator(config, 4, 3).count_params() < 29_251_843 / 50
    assert networks.discriminator(config, 4, 3).count_params() < 2_770_433 / 50
