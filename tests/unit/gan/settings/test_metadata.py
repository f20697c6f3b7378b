"""What the table of settings and the models declare, held against each other."""

from __future__ import annotations

import pytest

from ganboard.gan.config import RunConfig, parse_value
from ganboard.gan.settings import metadata
from ganboard.gan.settings.metadata import about, has_effect
from ganboard.gan.settings.models import MODELS, ignored

CONFIG = RunConfig().model_dump()


@pytest.mark.parametrize("name", RunConfig.model_fields)
def test_conditions_name_settings_and_their_values(name: str) -> None:
    for condition in filter(None, (about(name).when, about(name).unless)):
        other, *values = condition
        assert values
        assert [parse_value(other, value) for value in values] == values


@pytest.mark.parametrize("model", MODELS)
def test_models_read_settings_and_data_that_exist(model: str) -> None:
    assert set(MODELS[model].reads) <= set(RunConfig.model_fields)
    assert set(MODELS[model].paths) <= set(MODELS[model].datasets)
    assert bool(MODELS[model].geometries) == ("geometry" in MODELS[model].reads)


def test_a_model_ignores_what_only_others_read() -> None:
    assert ignored("dcgan") == ["geometry"]
    assert set(ignored("pix2pix")) - set(ignored("gan3d")) == {"recompute"}
    assert "seed" not in ignored("pix2pix")


def test_a_setting_has_an_effect_beside_some_values_only() -> None:
    assert has_effect("label_smoothing", CONFIG)
    assert not has_effect("label_smoothing", {**CONFIG, "loss": "hinge"})
    assert not has_effect("label_smoothing", {**CONFIG, "model": "pix2pix"})
    assert not has_effect("schedule_period", CONFIG)
    assert has_effect("schedule_period", {**CONFIG, "schedule": "cyclic"})
    assert has_effect("batch_size", CONFIG)


def test_every_setting_affects_something_and_is_in_one_group() -> None:
    parts = [metadata.affecting(what) for what in ("weights", "result", "records")]
    assert sorted(name for part in parts for name in part) == sorted(RunConfig.model_fields)
    grouped = [name for fields in metadata.fields_by_group().values() for name in fields]
    assert grouped == list(RunConfig.model_fields)


def test_settings_of_speed_come_with_their_defaults() -> None:
    assert metadata.speed_settings().items() <= CONFIG.items()
    assert "xla" in metadata.speed_settings()
    assert "batch_size" not in metadata.speed_settings()  # estimates know it by itself


def test_labels_are_declared_or_made_of_the_name() -> None:
    assert metadata.label("xla") == "XLA"
    assert metadata.label("batch_size") == "Batch size"


def test_a_setting_of_another_version_is_no_error() -> None:
    assert about("from_the_future").group == "Unknown"
