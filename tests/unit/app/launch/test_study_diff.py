"""What a difference means for a comparison with the study."""

from __future__ import annotations

import pytest

from ganboard.app.launch import study_diff
from ganboard.gan.settings.metadata import GROUPS, all_settings


@pytest.mark.parametrize("name", all_settings())
def test_every_setting_has_a_meaning(name: str) -> None:
    sentence = study_diff.meaning(name)
    assert sentence.endswith(".")
    assert len(sentence) < 140


def test_every_group_has_a_meaning() -> None:
    assert tuple(study_diff.MEANING) == GROUPS
    assert study_diff.meaning("from_the_future") == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "on"), (False, "off"), (None, "all"), (1e-4, "0.0001"), (64, "64"), ("", "")],
)
def test_values_in_words(value: object, text: str) -> None:
    assert study_diff.format_value(value) == text


def test_a_setting_that_a_model_has_not_is_a_dash() -> None:
    assert study_diff._format("limit", {"limit": None}) == "all"
    assert study_diff._format("width", {"limit": None}) == "–"
