"""The builder of a search on the Launch page."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db.searches import searches
from ganboard.worker.context import Context
from tests.factories import HOSTILE_NAMES
from tests.ui.pages import button, checked, open_page, words


def search_page(at: AppTest) -> AppTest:
    """The builder, opened."""
    at.segmented_control(key="launch_mode").set_value("Sweep")
    checked(at.run())
    at.segmented_control(key="launch_kind").set_value("Search")
    return checked(at.run())


def field(at: AppTest, name: str) -> Any:
    found = [*at.text_input, *at.selectbox, *at.multiselect]
    return next(one for one in found if one.key == f"search_{name}")


def fill(at: AppTest, **values: Any) -> AppTest:
    for name, value in values.items():
        field(at, name).set_value(value)
        checked(at.run())
    return at


def test_a_search_is_planned_and_started(context: Context) -> None:
    at = search_page(open_page("launch", preset="tiny"))
    at = fill(at, fields=["g_learning_rate", "batch_size", "xla"], runs="12", pruner="median")
    at.multiselect(key="search_values_xla").set_value([True, False])
    said = words(checked(at.run()))
    assert "Best FID: minimize." in said
    assert "g_learning_rate: 1e-05 to 0.001 (log); batch_size: 32, 64, 128;" in said
    assert "12 runs, 1 at a time. Each run is evaluated every 1 epoch and after the last" in said
    assert "Time unknown: no similar run has been measured on this machine." in said
    at = checked(button(at, "Start the search").click().run())
    (search,) = searches.listed(context.engine)
    assert (search.runs, search.pruner, search.sampler, search.preset) == (
        12,
        "median",
        "tpe",
        "tiny",
    )
    assert search.space["batch_size"] == {"choices": [32, 64, 128]}
    assert search.settings["quality_every"] == 1
    assert f"as search `{search.id}`" in words(at)


def test_a_double_click_starts_one_search(context: Context) -> None:
    at = search_page(open_page("launch", preset="tiny"))
    pressed = button(at, "Start the search")
    checked(pressed.click().run())
    checked(pressed.click().run())
    assert len(searches.listed(context.engine)) == 1


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"values_beta_1": "0..1"}, "beta_1=1 is not allowed: it must be less than 1"),
        ({"values_beta_1": "0.9..0.1"}, "beta_1: the range 0.9..0.1 must ascend."),
        ({"values_beta_1": "0.5"}, "beta_1 has one value only."),
        ({"values_beta_1": "0..0.9:log"}, "a logarithmic range must begin above 0"),
        ({"values_beta_1": "0.1..0.9:cubic"}, "'cubic' is no scale."),
        ({"values_beta_1": ""}, "beta_1 has no values"),
        ({"fields": []}, "Nothing to search: vary a setting"),
        ({"runs": "0"}, "Runs: '0' is invalid. Enter a whole number from 1 to 1,000."),
        ({"hours": "many"}, "Hours of training: 'many' is invalid."),
        ({"parallel": "65"}, "At once: '65' is invalid."),
        ({"seed": "-1"}, "Seed of the search: '-1' is invalid."),
        ({"objective": "seconds"}, "Target: '' is invalid."),
    ],
)
def test_bad_fields_give_one_sentence(values: dict[str, Any], sentence: str) -> None:
    at = fill(search_page(open_page("launch", preset="tiny")), **values)
    assert sentence in words(at)
    assert button(at, "Start the search").disabled


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("name", HOSTILE_NAMES[:3])
def test_hostile_values_are_text(name: str) -> None:
    at = fill(search_page(open_page("launch", preset="tiny")), values_beta_1=name)
    assert "beta_1=" in words(at)
    assert button(at, "Start the search").disabled
