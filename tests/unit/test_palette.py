"""Colours that everyone can tell apart and that stay with their run."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from app.theme import palette
from db.models import new_id

CONFIG = Path(__file__).parents[2] / "app" / ".streamlit" / "config.toml"

# Machado, Oliveira and Fernandes (2009), table 1, severity 1.0: linear RGB as seen without one kind of cone
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}


def linear(colour: str) -> npt.NDArray[np.float64]:
    value = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def oklab(rgb: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Ottosson (2020): a space in which equal distances look equally different."""
    lms = np.array([[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]) @ rgb.clip(0, 1)
    return np.array([[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]) @ np.cbrt(lms)


def contrast(a: str, b: str) -> float:
    """WCAG 2 contrast ratio."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("vision", VISIONS)
def test_all_pairs_can_be_told_apart(vision: str) -> None:
    seen = [oklab(VISIONS[vision] @ linear(colour)) for colour in palette.CATEGORICAL]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) > 0.09


def test_colours_stand_out_on_both_grounds() -> None:
    theme = tomllib.loads(CONFIG.read_text())["theme"]
    for ground in (theme["light"]["backgroundColor"], theme["dark"]["backgroundColor"]):
        assert min(contrast(colour, ground) for colour in palette.CATEGORICAL) > 2.5


def test_streamlit_has_the_same_colours() -> None:
    theme = tomllib.loads(CONFIG.read_text())["theme"]
    assert tuple(theme["chartCategoricalColors"]) == palette.CATEGORICAL
    assert tuple(theme["chartSequentialColors"]) == palette.SEQUENTIAL
    assert tuple(theme["chartDivergingColors"]) == palette.DIVERGING


def test_primary_buttons_can_be_read() -> None:
    theme = tomllib.loads(CONFIG.read_text())["theme"]
    assert min(contrast("#ffffff", theme[kind]["primaryColor"]) for kind in ("light", "dark")) > 4


def test_eight_runs_have_eight_colours() -> None:
    for _ in range(200):
        run_ids = [new_id() for _ in range(8)]
        assert len(set(palette.run_colours(run_ids).values())) == 8


def test_a_run_keeps_its_colour_when_others_come_behind_it() -> None:
    run_ids = [new_id() for _ in range(8)]
    for count in range(1, 9):
        assert palette.run_colours(run_ids[:count]) == {i: palette.run_colours(run_ids)[i] for i in run_ids[:count]}
    assert palette.run_colours(run_ids)[run_ids[0]] == palette.run_colour(run_ids[0])


def test_more_runs_than_colours_repeat_colours() -> None:
    run_ids = [new_id() for _ in range(30)]
    assert set(palette.run_colours(run_ids)) == set(run_ids)
