"""Ranges and values as people type them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ganboard.gan.config import ConfigError
from ganboard.worker.searches import space
from ganboard.worker.searches.space import Axis


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g_learning_rate=1e-5..1e-3", Axis("g_learning_rate", (), 1e-5, 1e-3, True, False)),
        ("g_learning_rate=1e-5..1e-3:linear", Axis("g_learning_rate", (), 1e-5, 1e-3)),
        ("beta_1=0..0.9", Axis("beta_1", (), 0.0, 0.9)),
        ("beta_1=0.3..0.9:log", Axis("beta_1", (), 0.3, 0.9, True)),
        ("latent_dim=16..256", Axis("latent_dim", (), 16, 256, True, True)),
        ("d_steps=1..3", Axis("d_steps", (), 1, 3, False, True)),
        ("batch_size=32, 64", Axis("batch_size", (32, 64))),
        ("xla=true,false", Axis("xla", (True, False))),
        ("precision=float32,mixed_bfloat16", Axis("precision", ("float32", "mixed_bfloat16"))),
    ],
)
def test_axes(text: str, expected: Axis) -> None:
    (found,) = space.axes([text])
    assert found == expected
    assert space.of_stored({found.name: found.stored()}) == (expected,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("beta_1", "not of the form key=low..high"),
        ("nope=1..2", "'nope' is not a setting"),
        ("epochs=1..9", "epochs cannot be searched"),
        ("dataset=digits,mnist", "dataset cannot be searched"),
        ("quality_every=1,2", "quality_every cannot be searched"),
        ("seed=1..9", "seed cannot be searched"),
        ("precision=float32..float64", "precision=float64 is not allowed"),
        ("xla=false..true", "xla is no number"),
        ("beta_1=0..1", "it must be less than 1"),
        ("beta_1=0.5..0.5", "must ascend"),
        ("beta_1=0..x", "beta_1=x is not allowed"),
        ("beta_1=0..0.5:log", "must begin above 0"),
        ("beta_1=0.1..0.5:square", "'square' is no scale"),
        ("batch_size=32", "batch_size has one value only"),
        ("batch_size=32,32", "batch_size lists 32 twice"),
    ],
)
def test_mistakes_are_one_sentence(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace(".", r"\.").replace("(", r"\(")):
        space.axes([text])


def test_a_setting_varies_once() -> None:
    with pytest.raises(ConfigError, match="beta_1 is varied twice"):
        space.axes(["beta_1=0..0.5", "beta_1=0.5..0.9"])


def test_sizes() -> None:
    assert space.size(space.axes(["batch_size=32,64", "d_steps=1..3"])) == 6
    assert math.isinf(space.size(space.axes(["batch_size=32,64", "beta_1=0..0.9"])))


def test_draws_stay_within() -> None:
    axes = space.axes(["g_learning_rate=1e-5..1e-3", "latent_dim=16..256", "d_steps=1..3"])
    random = np.random.default_rng(0)
    drawn = [space.draw(axes, random) for _ in range(200)]
    assert {one["d_steps"] for one in drawn} == {1, 2, 3}
    assert all(1e-5 <= one["g_learning_rate"] <= 1e-3 for one in drawn)
    assert all(isinstance(one["latent_dim"], int) for one in drawn)
    middle = np.median([one["latent_dim"] for one in drawn])
    assert 40 < middle < 100  # of a logarithmic range


def test_rounding_keeps_the_range() -> None:
    (axis,) = space.axes(["beta_1=0.12345638..0.9"])
    assert axis.rounded(0.12345639) == 0.12345638  # 0.123456 would be below it
    assert axis.rounded(0.55555555) == 0.555556
