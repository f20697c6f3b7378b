"""One setting's value by itself, as lists of values and command lines give it."""

from __future__ import annotations

import pytest

from ganboard.gan import presets
from ganboard.gan.config import ConfigError, parse, parse_assignments, parse_value
from ganboard.gan.settings.metadata import all_settings
from ganboard.gan.studies import built_in


@pytest.mark.parametrize("name", all_settings())
def test_every_default_is_its_own_value(name: str) -> None:
    default = all_settings()[name].default
    assert parse_value(name, default) == default


def test_a_value_needs_no_others() -> None:
    # which a whole configuration takes only with images_path
    assert parse_value("dataset", "images") == "images"
    assert parse_value("strategy", "multi_worker") == "multi_worker"
    assert parse_value("replicas", "2") == 2


def test_a_former_name_means_the_present_one() -> None:
    assert parse_value("dataset", "street") == "vortex_street"
    former = {"model": "pix2pix", "dataset": "street", "geometry": "64x64"}
    assert parse(former).dataset == "vortex_street"
    assert presets.load("street_tiny") == presets.load("vortex_street_tiny")
    assert built_in("street", "tiny") == built_in("vortex_street", "tiny")


@pytest.mark.parametrize("word", ["none", "None", "all"])
def test_the_words_for_no_limit(word: str) -> None:
    assert parse_value("limit", word) is None
    assert parse_assignments([f"limit={word}"]) == {"limit": None}


def test_none_is_a_word_where_a_setting_has_it() -> None:
    assert parse_value("lr_scaling", "none") == "none"
    assert parse_assignments(["lr_scaling=none", "seed=3"]) == {"lr_scaling": "none", "seed": "3"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", "x"), ("seed", None), ("g_learning_rate", "inf"), ("nothing", 1), ("xla", [1])],
)
def test_a_wrong_value_is_one_sentence_that_names_it(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        parse_value(name, value)
