"""Colours that everyone can distinguish and that stay with their run."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pytest

from ganboard.worker.figures import palette

CONFIG = Path(__file__).parents[4] / "app" / "web" / ".streamlit" / "config.toml"

# Machado, Oliveira and Fernandes (2009), table 1, severity 1.0: linear RGB as seen without one kind
# of cone
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(colour: str) -> npt.NDArray[np.float64]:
    value = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def oklab(rgb: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Ottosson (2020): a space in which equal distances look equally different."""
    lms = np.array(
        [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
    ) @ rgb.clip(0, 1)
    return np.array(
        [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
    ) @ np.cbrt(lms)


def contrast(a: str, b: str) -> float:
    """WCAG 2 contrast ratio."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("vision", VISIONS)
def test_all_pairs_can_be_distinguished(vision: str) -> None:
    seen = [oklab(VISIONS[vision] @ linear(colour)) for colour in palette.CATEGORICAL]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) > 0.09


def test_colours_stand_out_on_both_grounds() -> None:
    theme = tomllib.loads(CONFIG.read_text())["theme"]
    for ground in (theme["light"]["backgroundColor"], theme["dark"]["backgroundColor"]):
        assert min(contrast(colour, ground) for colour in palette.CATEGORICAL) > 2.5


def test_networks_can_be_read_on_both_grounds() -> None:
    theme = tomllib.loads(CONFIG.read_text())["theme"]
    light, dark = (theme[scheme]["backgroundColor"] for scheme in ("light", "dark"))
    for line, word in palette.WORDS.items():
        assert contrast(line, light) > 3
        assert contrast(palette.DARK.get(line, line), dark) > 4.5
        assert contrast(word, light) > 4.5
        assert contrast(palette.DARK.get(word, word), dark) > 4.5
    # run colours never change
    assert not set(palette.CATEGORICAL) & {*palette.WORDS, *palette.DARK}


def test_streamlit_has_the_same_colours() -> None:
    theme = tomllib.loads(CONFIG.read_text())["theme"]
    assert tuple(theme["chartCategoricalColors"]) == palette.CATEGORICAL
    assert tuple(theme["chartSequentialColors"]) == palette.SEQUENTIAL


def test_primary_colours_can_be_read() -> None:
    theme = tomllib.loads(CONFIG.read_text())["theme"]
    assert contrast("#ffffff", theme["light"]["primaryColor"]) > 4.5
    # both ground of white words and words on the dark ground: one of them has to give way
    dark = theme["dark"]["primaryColor"]
    assert contrast("#ffffff", dark) > 3.5
    assert contrast(dark, theme["dark"]["backgroundColor"]) > 4.5


def test_thirty_two_runs_in_a_row_look_different() -> None:
    for first in (0, 1, 30, 1000):
        styles = {
            (palette.run_colour(number), palette.run_style(number))
            for number in range(first, first + 32)
        }
        assert len(styles) == 32
        assert len({palette.run_colour(number) for number in range(first, first + 8)}) == 8


def test_a_look_follows_from_the_number_alone() -> None:
    assert [palette.run_colour(number) for number in (0, 7, 8)] == [
        palette.CATEGORICAL[0],
        palette.CATEGORICAL[7],
        palette.CATEGORICAL[0],
    ]
    assert [palette.DASHES[palette.run_style(number)] for number in (0, 8, 16, 24, 32)] == [
        "solid",
        "dash",
        "dot",
        "dashdot",
        "solid",
    ]


def test_every_style_has_a_dash_and_a_pattern() -> None:
    assert len(palette.DASHES) == len(set(palette.PATTERNS))


def test_swatches_differ_as_lines_do() -> None:
    assert len({palette.run_swatch(number) for number in range(32)}) == 32
    picture = unquote(palette.run_swatch(9).removeprefix("data:image/svg+xml,"))
    assert palette.CATEGORICAL[1] in picture
    assert 'stroke-dasharray="8 4"' in picture
