from __future__ import annotations

import hashlib
import random
import warnings
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from keras.src.legacy.saving import legacy_h5_format

from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.data import download
from ganboard.gan.data.dataset import Dataset
from ganboard.gan.quality import inception_weights
from ganboard.gan.quality.evaluator import Evaluator
from ganboard.gan.quality.inception import Inception, resized
from ganboard.gan.settings.features import recorded

NAME = inception_weights.NAME


@pytest.fixture(autouse=True)
def keras_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    return tmp_path / "keras"


def test_absent_weights_offline_are_one_sentence(offline: None, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with pytest.raises(ConfigError) as raised:
        inception_weights.obtain(data_dir)
    assert str(raised.value) == (
        "quality_features=inception needs the weights of Keras's InceptionV3, which are not at"
        f" {data_dir / NAME}, and storage.googleapis.com, from where Keras downloads it, cannot be"
        f" reached from this machine. Copy {inception_weights.ORIGIN}{NAME} (88 MB) there, or set"
        " quality_features=encoder."
    ).replace(
        "storage.googleapis.com, from",
        f"{download._endpoint(inception_weights.ORIGIN)[0]}, from",
        1,
    )


def test_the_data_directory_comes_before_kerass_cache(keras_home: Path, tmp_path: Path) -> None:
    in_keras, own = keras_home / "models" / NAME, tmp_path / "data" / NAME
    for path in (in_keras, own):
        path.parent.mkdir(parents=True)
    in_keras.write_bytes(b"")
    assert inception_weights.find(tmp_path / "data") == in_keras
    own.write_bytes(b"")
    assert inception_weights.find(tmp_path / "data") == own
    assert inception_weights.find() == in_keras
    inception_weights.check(tmp_path / "data")


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"half of a file")
    with pytest.raises(
        ConfigError, match=r"is not the file that Keras publishes .* Delete it, and"
    ):
        inception_weights.obtain(tmp_path)


@pytest.mark.parametrize("side", [28, 64, 256, 299, 400])
def test_images_are_resized_by_the_rule_of_the_reference(side: int) -> None:
    """TensorFlow 1's: output i is between the inputs floor and ceil of i * side / 299."""
    images = np.random.default_rng(0).integers(0, 256, (2, side, side, 3), np.uint8)
    places = np.arange(299) * np.float32(side / 299)
    low = np.floor(places).astype(int)
    high = np.minimum(low + 1, side - 1)
    share = (places - low).astype(np.float32)
    wide = images.astype(np.float32)
    rows = wide[:, low] * (1 - share)[:, None, None] + wide[:, high] * share[:, None, None]
    whole = rows[:, :, low] * (1 - share)[:, None] + rows[:, :, high] * share[:, None]
    np.testing.assert_allclose(resized(images), whole / 127.5 - 1, atol=1e-3)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as Keras's, with random weights."""
    folder = tmp_path_factory.mktemp("weights")
    keras.utils.set_random_seed(0)
    network = keras.applications.InceptionV3(include_top=False, weights=None, pooling="avg")
    # the older format, in which Keras publishes them, and whose writing warns
    with h5py.File(folder / NAME, "w") as file, warnings.catch_warnings(action="ignore"):
        legacy_h5_format.save_weights_to_hdf5_group(file, network)
    return folder / NAME


@pytest.mark.thorough
def test_the_whole_way_with_random_weights(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random.seed(3)
    keras.utils.set_random_seed(3)
    before = random.getstate()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        found = Inception(weights)
        assert keras.config.dtype_policy().name == "mixed_bfloat16"
    finally:
        keras.config.set_dtype_policy("float32")
    assert random.getstate() == before
    images = np.random.default_rng(0).integers(0, 256, (3, 64, 64, 3), np.uint8)
    features = found(images)
    assert features.shape == (3, 2048)
    assert features.dtype == np.float32
    assert found(images[:1]).tobytes() == features[:1].tobytes()
    # as Keras itself computes them
    network = keras.applications.InceptionV3(include_top=False, weights=None, pooling="avg")
    network.load_weights(weights)
    np.testing.assert_allclose(network(resized(images)), features, rtol=1e-3, atol=1e-5)
    grey = found(images[..., :1])
    assert grey.tobytes() == found(np.repeat(images[..., :1], 3, axis=3)).tobytes()
    # and as an evaluator uses them: real features are kept
    md5 = hashlib.md5(weights.read_bytes(), usedforsecurity=False).hexdigest()
    monkeypatch.setattr(inception_weights, "MD5", md5)
    data = Dataset(np.random.default_rng(1).integers(0, 256, (200, 28, 28, 1), np.uint8), None, "")
    config = RunConfig(dataset="digits", quality_every=1)
    # fewer than is sensible, in less time
    config = config.model_copy(update={"quality_images": 20, "limit": 20})
    options = {"features": "inception", "data_dir": weights.parent}
    heard: list[float] = []
    evaluator = Evaluator(config, data, tmp_path, heard.append, **options)  # type: ignore[arg-type]
    assert heard
    assert recorded(evaluator.facts).name == "inception"
    measures, histogram = evaluator.compare((data.images[:10] / 127.5 - 1).astype(np.float32))
    assert np.isfinite(list(measures.values())).all()
    assert "class_distance" not in measures
    assert histogram == ()
    heard.clear()
    Evaluator(config, data, tmp_path, heard.append, **options)  # type: ignore[arg-type]
    assert not heard


@pytest.mark.thorough
def test_a_file_that_is_no_weights_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "broken.weights.h5"
    path.write_bytes(b"no HDF5")
    with pytest.raises(ConfigError, match=r"cannot be read as the weights of InceptionV3"):
        Inception(path)


def test_the_network_is_that_of_kerass_own_file() -> None:
    text = (Path(keras.__file__).parent / "src/applications/inception_v3.py").read_text()
    assert NAME in text
    assert inception_weights.MD5 in text
