"""Networks in Keras's own layers and as files: the same function, without ganboard."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.generation import networks
from ganboard.gan.generation.formats import NAMES
from ganboard.gan.generation.networks import Written
from ganboard.gan.modeling import recipe
from ganboard.gan.presets import load
from tests.stored import store

# of Keras, as it saves its variables, and of its module for ONNX
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
ONNX = pytest.mark.filterwarnings("ignore:In the future `np.object`:FutureWarning")
MODELS = {
    "dcgan": {},
    "gan3d": {"preset": "showers_tiny"},
    "pix2pix": {"preset": "vortex_street_tiny"},
    "vortex_street": {"preset": "vortex_street"},
    "cdcgan": {"model": "cdcgan"},
    "sngan": {"model": "sngan"},
    "wgan_gp": {"model": "wgan_gp"},
    "r3gan": {"model": "r3gan"},
}
PLAIN = """
import sys, json, numpy as np, keras
network = keras.models.load_model(sys.argv[1])
inputs = np.load(sys.argv[2])
np.save(sys.argv[3], network.predict([inputs[name] for name in inputs.files][0], verbose=0))
print([name for name in sys.modules if name.startswith("ganboard")])
"""


def config(name: str, **changes: Any) -> RunConfig:
    own = dict(MODELS[name])
    return load(own.pop("preset", "tiny"), {**own, **changes})


def written(tmp_path: Path, settings: RunConfig, *formats: str) -> dict[str, Written]:
    store(settings, tmp_path / "checkpoints", step=12)
    made = networks.write(
        settings, tmp_path / "checkpoints", 12, tmp_path, formats=formats or ["keras"]
    )
    return {f"{one.network} {one.format}": one for one in made}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_computes_the_same_in_layers_of_keras(name: str) -> None:
    for network, which in zip(recipe.make(config(name)).networks(), NAMES, strict=True):
        plain = networks.in_keras_layers(network, which)
        assert networks.foreign(plain) == []
        assert networks._difference(network, plain) < 1e-5
        assert all(layer.dtype_policy.name == "float32" for layer in plain.layers)


def test_inputs_have_names_that_say_what_they_are() -> None:
    def names(name: str) -> list[list[str]]:
        pair = zip(recipe.make(config(name)).networks(), NAMES, strict=True)
        return [[one.name for one in networks.in_keras_layers(*net).inputs] for net in pair]

    assert names("dcgan") == [["latent"], ["image"]]
    assert names("cdcgan") == [["latent", "label"], ["image", "label"]]
    assert names("pix2pix") == [["picture"], ["picture", "target"]]


def test_the_average_is_what_is_written_of_a_generator_with_ema(tmp_path: Path) -> None:
    settings = config("dcgan", ema=0.9)
    made = written(tmp_path, settings)
    import keras

    saved = keras.models.load_model(made["generator keras"].path)
    nets = store(settings, tmp_path / "again", step=12)
    assert nets.average is not None
    latents = np.random.default_rng(1).normal(size=(2, settings.latent_dim)).astype(np.float32)
    expected = np.asarray(nets.average(latents, training=False))
    assert np.abs(np.asarray(saved(latents)) - expected).max() < 1e-5
    assert np.abs(np.asarray(nets.generator(latents, training=False)) - expected).max() > 1e-4


def test_16_bits_become_float32(tmp_path: Path) -> None:
    made = written(tmp_path, config("dcgan", precision="mixed_bfloat16"))
    assert made["generator keras"].output.dtype == "float32"
    assert 0 < made["generator keras"].difference < 0.05  # what bfloat16 rounds


@pytest.mark.thorough
def test_a_keras_file_needs_no_ganboard(tmp_path: Path) -> None:
    made = written(tmp_path, config("dcgan"))["generator keras"]
    latents = np.random.default_rng(1).normal(size=(2, 100)).astype(np.float32)
    np.savez(tmp_path / "in.npz", latent=latents)
    files = [str(made.path), str(tmp_path / "in.npz"), str(tmp_path / "out.npy")]
    said = subprocess.check_output([sys.executable, "-c", PLAIN, *files], text=True, cwd=tmp_path)
    assert said.splitlines()[-1] == "[]"
    assert np.load(tmp_path / "out.npy").shape == (2, 28, 28, 1)


def test_a_saved_model_answers_alike(tmp_path: Path) -> None:
    made = written(tmp_path, config("cdcgan"), "keras", "saved_model")
    import keras

    latents = np.random.default_rng(1).normal(size=(3, 100)).astype(np.float32)
    labels = np.array([1, 2, 3], made["generator keras"].inputs[1].dtype)
    expected = keras.models.load_model(made["generator keras"].path)([latents, labels])
    served = tf.saved_model.load(str(made["generator saved_model"].path))
    answer = served.serve([tf.constant(latents), tf.constant(labels)])
    assert np.array_equal(answer, expected)


@ONNX
@pytest.mark.parametrize(
    "name",
    [
        "dcgan",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in MODELS if name != "dcgan"),
    ],
)
def test_onnx_runtime_answers_alike(tmp_path: Path, name: str) -> None:
    import keras
    import onnxruntime

    made = written(tmp_path, config(name), "keras", "onnx")
    for which in NAMES:
        network = keras.models.load_model(made[f"{which} keras"].path)
        session = onnxruntime.InferenceSession(str(made[f"{which} onnx"].path))
        given = networks.probes(network)
        ports = [one.name for one in session.get_inputs()]
        assert ports == [port.name for port in made[f"{which} onnx"].inputs]
        (answer, *_) = session.run(None, dict(zip(ports, given, strict=True)))
        expected = networks._called(network, given)
        assert np.abs(answer - expected).max() <= 1e-5 * max(1, np.abs(expected).max())


@ONNX
def test_what_a_format_cannot_hold_is_said_in_one_sentence(tmp_path: Path) -> None:
    import keras

    class Foreign(keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            out = tf.numpy_function(np.sin, [inputs], tf.float32)
            return tf.ensure_shape(out, inputs.shape)

    inputs = keras.Input((3,))
    network = keras.Model(inputs, Foreign()(inputs), name="generator")
    path = tmp_path / "generator.onnx"
    with pytest.raises(networks.NotExported, match=r"^The generator cannot be written as onnx: "):
        networks._save(network, path, "onnx")
    assert not path.exists()
