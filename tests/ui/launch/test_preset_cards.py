"""The presets above the form: three cards, and the others behind a button."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.app.launch import preset_cards
from ganboard.gan import presets
from ganboard.worker.context import Context
from tests.ui.launch.form import setting
from tests.ui.pages import checked, open_page, words

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("chosen", presets.NAMES)
def test_the_chosen_preset_is_among_three(chosen: str) -> None:
    shown = preset_cards.shown(chosen)
    assert len(shown) == len(set(shown)) == 3
    assert chosen in shown


@pytest.mark.usefixtures("context")
def test_every_preset_can_be_chosen_and_one_is_marked() -> None:
    at = open_page("launch", preset="showers")
    keys = {str(button.key) for button in at.button}
    assert {f"use_{name}" for name in presets.NAMES} <= keys
    assert at.button(key="use_showers").label == "Reset"
    assert [line for line in words(at).splitlines() if "In use" in line] == [
        "**showers** :green-badge[:material/check: In use]"
    ]


def test_cards_have_small_pictures_that_are_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["ganboard.app"]
    installed = {path for pattern in patterns for path in (ROOT / "app").resolve().glob(pattern)}
    pictures = set(preset_cards.PICTURES.resolve().iterdir())
    assert pictures <= installed
    assert {f"{name}.webp" for name in preset_cards.CARDS} <= {path.name for path in pictures}
    assert {path.stem for path in pictures} <= set(presets.NAMES)
    assert all(path.stat().st_size < 40_000 for path in pictures)


def test_missing_data_are_named_when_they_are_chosen(
    context: Context, monkeypatch: pytest.MonkeyPatch, make_run: Callable[..., object]
) -> None:
    monkeypatch.setenv("GANBOARD_DATA_DIR", str(context.settings.state / "nothing"))
    at = open_page("launch", preset="tiny")
    assert "is not in" not in words(at)
    assert "There is no folder or zip" not in words(at)
    setting(at, "dataset").set_value("fashion_mnist")
    notes = [line for line in words(checked(at.run())).splitlines() if "is not in" in line]
    assert any(line.startswith("fashion_mnist is not in") for line in notes)
    assert not any(line.startswith("mnist is not in") for line in notes)
