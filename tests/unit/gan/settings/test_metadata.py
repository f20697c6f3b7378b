"""What the table of settings and the models declare, held against each other."""

from __future__ import annotations

import pytest

from ganboard.gan.config import RunConfig, parse, parse_value
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.settings import metadata, registry
from ganboard.gan.settings.metadata import about, all_settings, has_effect

CONFIG = Config().model_dump()


@pytest.mark.parametrize("name", all_settings())
def test_conditions_name_settings_and_their_values(name: str) -> None:
    for condition in filter(None, (about(name).when, about(name).unless)):
        other, *values = condition
        assert values
        assert [parse_value(other, value) for value in values] == values


@pytest.mark.parametrize("name", registry.models())
def test_a_model_learns_from_its_usual_data(name: str) -> None:
    model = registry.get(name)
    config = parse({"model": name})
    assert type(config) is model.config
    assert config.model == name
    assert config.dataset in model.config.datasets


def test_a_model_has_the_settings_that_all_have_and_its_own() -> None:
    own = {name: set(model.config.model_fields) for name, model in registry.models().items()}
    assert all(fields > set(RunConfig.model_fields) for fields in own.values())
    assert own["gan3d"] - own["pix2pix"] == {"recompute", "r1", "curriculum"}
    assert "geometry" not in own["dcgan"]


def test_choices_are_those_of_the_model() -> None:
    def chosen(name: str, model: str) -> tuple[str, ...]:
        field = registry.get(model).config.model_fields[name]
        return metadata.options(name, field, {"model": model})

    assert chosen("dataset", "gan3d") == ("showers", "hdf5")
    assert chosen("geometry", "gan3d") != chosen("geometry", "pix2pix")
    assert chosen("model", "dcgan") == tuple(registry.models())
    assert chosen("batch_size", "dcgan") == ()


def test_a_setting_has_an_effect_beside_some_values_only() -> None:
    assert has_effect("label_smoothing", CONFIG)
    assert not has_effect("label_smoothing", {**CONFIG, "loss": "hinge"})
    assert not has_effect("label_smoothing", {**CONFIG, "model": "pix2pix"})
    assert not has_effect("schedule_period", CONFIG)
    assert has_effect("schedule_period", {**CONFIG, "schedule": "cyclic"})
    assert has_effect("batch_size", CONFIG)


def test_every_setting_affects_something_and_is_in_one_group() -> None:
    parts = [metadata.affecting(what) for what in ("weights", "result", "records")]
    assert sorted(name for part in parts for name in part) == sorted(all_settings())
    grouped = [name for fields in metadata.fields_by_group().values() for name in fields]
    assert sorted(grouped) == sorted(all_settings())


def test_settings_of_speed_come_with_their_defaults() -> None:
    assert metadata.speed_settings().items() <= metadata.all_defaults().items()
    assert "xla" in metadata.speed_settings()
    assert "batch_size" not in metadata.speed_settings()  # estimates know it by itself


def test_labels_are_declared_or_made_of_the_name() -> None:
    assert metadata.label("xla") == "XLA"
    assert metadata.label("batch_size") == "Batch size"


def test_a_setting_of_another_version_is_no_error() -> None:
    assert about("from_the_future").group == "Unknown"
