"""Models in files and folders, found and refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.gan.checkpoint.store import config_hash
from ganboard.gan.config import ConfigError, config_class, invalid_reason, model_of, parse
from ganboard.gan.settings import registry
from ganboard.gan.settings.pictures import PictureConfig

SOURCE = '''"""Tiny GAN (Nobody 2024)."""
import keras
from keras import layers
from ganboard import PictureConfig, setting


@keras.saving.register_keras_serializable()
class Own(layers.Layer):
    pass


class Config(PictureConfig):
    defaults = {"beta_1": 0.5}
    width: int = setting(8, "Model", "Filters", ge=1, le=64)


def generator(config):
    raise AssertionError("never called")


def discriminator(config):
    raise AssertionError("never called")
'''
Named = Callable[..., None]


def test_a_file_is_a_model_with_its_own_settings_and_defaults(named: Named) -> None:
    named(tiny=SOURCE)
    assert registry.refused() == {}
    assert next(iter(registry.models())) == registry.usual() == "dcgan"
    config = parse({"model": "tiny", "width": "16"})
    assert isinstance(config, PictureConfig)
    assert config.model_dump(include={"model", "beta_1", "width"}) == {
        "model": "tiny",
        "beta_1": 0.5,
        "width": 16,
    }
    assert registry.get("tiny").spec.title == "Tiny GAN (Nobody 2024)"
    assert model_of({"model": "tiny"}) == "tiny"
    with pytest.raises(ConfigError, match=r"width=65 is not allowed: it must be at most 64"):
        parse({"model": "tiny", "width": 65})
    with pytest.raises(ConfigError, match=r"width=24 has no meaning for model=dcgan"):
        parse({"width": 24})


def test_declarations_are_read_without_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(SOURCE)
    code = (
        "import sys\n"
        "from ganboard.gan.config import parse\n"
        "assert parse({'model': 'tiny'}).width == 8\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('keras', 'tensorflow')])"
    )
    said = subprocess.check_output(
        [sys.executable, "-c", code], env={"GANBOARD_MODELS": str(tmp_path), "PATH": ""}, text=True
    )
    assert said == "[]\n"


def test_a_changed_source_is_another_model(named: Named) -> None:
    named(tiny=SOURCE)
    first = registry.get("tiny").source
    named(tiny=SOURCE + "\n# changed\n")
    assert first
    assert registry.get("tiny").source != first
    assert registry.get("dcgan").source == ""


def test_a_run_goes_on_with_its_own_code_alone(named: Named) -> None:
    named(tiny=SOURCE)
    config = parse({"model": "tiny"})
    began = {registry.SOURCE: registry.of(config).source}
    digest = config_hash(config, 100)
    registry.check_source(config, began, "abc")
    registry.check_source(config, {}, "abc")  # has not begun
    named(tiny=SOURCE + "\n# changed\n")
    with pytest.raises(ConfigError, match=r"The source of model=tiny has changed since run abc"):
        registry.check_source(config, began, "abc")
    assert config_hash(config, 100) != digest  # nor does a checkpoint load


def test_losses_of_its_own_are_not_called_cross_entropy(named: Named) -> None:
    own = SOURCE + "\n\ndef generator_loss(config, real, fake):\n    ...\n"
    named(plain=SOURCE, own=own + own.split("\n\n")[-1].replace("generator", "discriminator"))
    assert registry.refused() == {}
    assert registry.get("plain").spec.losses == ""
    assert registry.get("own").spec.losses.startswith("Losses as the model's own file defines")


def test_a_folder_with_a_specification_is_a_model(named: Named, tmp_path: Path) -> None:
    folder = tmp_path / "models" / "whole"
    folder.mkdir(parents=True)
    (folder / "config.py").write_text(
        "from ganboard.gan.settings.run_config import RunConfig\n\n\n"
        "class Config(RunConfig):\n"
        '    datasets = {"digits": ""}\n'
        '    defaults = {"dataset": "digits"}\n'
    )
    (folder / "model.py").write_text(
        "from ganboard import Benchmark, ModelSpec\nfrom .config import Config\n\n"
        'MODEL = ModelSpec(title="Whole", config=Config, metrics=(), benchmark=Benchmark(8))\n'
    )
    named()
    assert registry.refused() == {}
    assert parse({"model": "whole"}).dataset == "digits"


@pytest.mark.parametrize(
    ("name", "source", "sentence"),
    [
        ("torn", "def generator(config:\n", "line 1 is not valid Python ('(' was never closed)."),
        ("raises", "x = 1 / 0\n", "it cannot be imported in line 1 (ZeroDivisionError: division"),
        (
            "type",
            SOURCE.replace("width: int", "width: Own"),
            "it cannot be imported in line 12 (PydanticSchemaGenerationError: Unable to generate",
        ),
        ("empty", "", "it has no function generator(config). Add one."),
        ("Upper", SOURCE, "'Upper' cannot be a model's name. Use up to 40 small letters"),
        ("dcgan", SOURCE, "there already is a model called dcgan. Rename the file."),
        (
            "shared",
            SOURCE + "\n\nclass Config(PictureConfig):\n    seed: int = setting(1, 'Model', 'x')\n",
            "seed is a setting of every model. Give yours another name, or state another default",
        ),
        (
            "unknown",
            SOURCE.replace('"beta_1"', '"beta_9"'),
            "`defaults` names beta_9, which is no setting.",
        ),
        ("wrong", SOURCE.replace("0.5", "7"), "beta_1=7 is not allowed: it must be less than 1"),
        (
            "other",
            SOURCE.replace("class Config(PictureConfig)", "class Config"),
            "its Config must be a class derived from ganboard.PictureConfig.",
        ),
    ],
)
def test_what_is_no_model_is_refused_in_a_sentence(
    named: Named, name: str, source: str, sentence: str
) -> None:
    named(**{name: source})
    (found,) = registry.refused().values()
    assert sentence in found
    assert [one.name for one in registry.models().values() if one.source] == []  # none was added
    if name not in registry.models():
        with pytest.raises(ConfigError):
            parse({"model": name})


def test_a_path_that_does_not_exist_is_named(named: Named) -> None:
    named("/nowhere/at/all")
    assert registry.refused() == {
        "/nowhere/at/all": (
            "GANBOARD_MODELS names /nowhere/at/all, which does not exist. Correct the path."
        )
    }


def test_a_run_of_a_model_that_is_gone_can_still_be_read() -> None:
    assert config_class({"model": "gone"}) is registry.get(registry.usual()).config


def test_a_run_of_a_model_that_is_gone_says_what_to_do() -> None:
    assert registry.missing({}) is None
    assert registry.missing({"model": "convgan"}) is None
    assert registry.missing({"model": "gone"}) == (
        "model=gone of this run is not here: install its package, or name its file in"
        " GANBOARD_MODELS before the dashboard and its workers start."
    )
    stored = parse({}).model_dump(mode="json")
    # a setting of its own may be called like another model's
    assert invalid_reason({**stored, "model": "gone", "generator_batch_norm": "some"}) is None
    assert invalid_reason({**stored, "generator_batch_norm": "some"}) is not None
    with pytest.raises(ConfigError, match="or a file that GANBOARD_MODELS names"):
        parse({"model": "gone"})
