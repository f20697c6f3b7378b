"""The models of one file each, at 16x16 pixels and small widths."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import ConfigError, parse
from ganboard.gan.modeling.adversarial import AdversarialRecipe
from ganboard.gan.models import convgan
from ganboard.gan.models._sizes import halvings
from ganboard.gan.quality.evaluator import Evaluator
from ganboard.gan.rng import philox
from ganboard.gan.settings.pictures import PictureConfig
from ganboard.gan.training.step import Stepper, networks

SETTINGS: dict[str, dict[str, Any]] = {
    "convgan": {"discriminator_batch_norm": True},
    "cdcgan": {"conditional": True},
    "sngan": {"loss": "hinge"},
    "wgan_gp": {"loss": "wgan_gp", "d_steps": 2},
    "r3gan": {"loss": "relativistic", "r1": 1.0, "r2": 1.0, "width": 16},
}


class Config(PictureConfig):
    dataset: str = "digits"
    batch_size: int = 8
    latent_dim: int = 8
    image_size: int = 16
    channels: Literal[1, 3] = 3
    conditional: bool = False
    classes: int = 2
    width: int = 4
    discriminator_batch_norm: bool = False


class Pictures:
    images = (np.random.default_rng(0).random((16, 16, 16, 3)) * 255).astype(np.uint8)
    labels = np.arange(16) % 2


def recipe(config: Config, module: Any) -> AdversarialRecipe:
    return AdversarialRecipe(config, module, Evaluator)


def stepper(name: str, **changes: Any) -> Stepper:
    config = Config(**SETTINGS[name], **changes)
    made = recipe(config, import_module(f"ganboard.gan.models.{name}"))
    return Stepper(config, tf.distribute.get_strategy(), networks(config, made), Pictures(), made)


def losses(made: Stepper, first: int, count: int) -> np.ndarray:
    taken = made.run(philox.order(0, 1, 16), first, first, count)
    return np.stack([taken.g_loss, taken.d_loss])


@pytest.mark.thorough
@pytest.mark.parametrize("name", SETTINGS)
def test_a_model_trains_and_resumes_to_the_bit(name: str) -> None:
    whole, parts, resumed = (stepper(name) for _ in range(3))
    before = whole.nets.arrays()
    wanted = losses(whole, 0, 2)
    assert np.isfinite(wanted).all()
    first = losses(parts, 0, 1)
    resumed.nets.assign(parts.nets.arrays())
    np.testing.assert_array_equal(wanted, np.concatenate([first, losses(resumed, 1, 1)], 1))
    after = whole.nets.arrays()
    again = resumed.nets.arrays()
    assert all(np.array_equal(array, again[name]) for name, array in after.items())
    # all but optimizers' rates move, and the last bias, which the difference of two logits lacks
    still = [name for name in after if np.array_equal(after[name], before[name])]
    weights = [name for name in still if "learning_rate" not in name and "bias" not in name]
    assert weights == []


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("side", "channels"), [(16, 3), (28, 1)])
def test_networks_are_of_the_size_and_channels_of_the_pictures(
    name: str, side: int, channels: int
) -> None:
    config = Config(**SETTINGS[name], image_size=side, channels=channels)
    made = recipe(config, import_module(f"ganboard.gan.models.{name}"))
    generator, discriminator = made.networks()
    assert generator.output_shape == (None, side, side, channels)
    assert discriminator.output_shape == (None, 1)


def test_convgan_has_the_papers_layers_at_64_pixels() -> None:
    """Radford et al. 2016, Fig. 1: 100 values, 4x4x1024, 8x8x512, 16x16x256, 32x32x128, 64x64x3."""
    config = Config(image_size=64, width=128, latent_dim=100)
    shapes = [
        layer.output.shape[1:]
        for layer in convgan.generator(config).layers
        if type(layer).__name__ in ("InputLayer", "Reshape", "Conv2DTranspose")
    ]
    assert shapes == [(100,), (4, 4, 1024), (8, 8, 512), (16, 16, 256), (32, 32, 128), (64, 64, 3)]


def test_a_side_that_cannot_be_halved_is_refused() -> None:
    assert [halvings(size) for size in (28, 32, 64, 96, 256)] == [2, 3, 4, 4, 6]
    with pytest.raises(ConfigError) as refused:
        parse({"model": "convgan", "image_size": 100})
    assert str(refused.value) == (
        "image_size=100 is not 4, 5, 6 or 7 times a power of 2: use 28, 32, 48, 64, 96, 128 or 256."
    )
