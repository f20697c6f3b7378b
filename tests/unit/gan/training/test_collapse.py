"""The monitors of collapse, on grids and on evaluations of healthy and of ruined runs, some of them
measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ganboard.gan.data import digits
from ganboard.gan.events import Note, Quality
from ganboard.gan.presets import load
from ganboard.gan.training.guards.monitors import Monitors
from tests.unit.gan.training.monitored import GROWN, PER_EPOCH, SIDE, config, levels, make, real

# --- the grid ---


def images(count: int = SIDE**2, seed: int = 0) -> np.ndarray:
    """Real digits in place of a perfect generator's."""
    return (
        real()[np.random.default_rng(seed).permutation(len(real()))[:count]] / 127.5 - 1
    ).astype(np.float32)


def collapsed(seed: int = 0, jitter: float = 0.12) -> np.ndarray:
    """One digit, each time a little different."""
    random = np.random.default_rng(seed)
    return np.clip(
        images(1, seed) + jitter * random.normal(size=(SIDE**2, 28, 28, 1)), -1, 1
    ).astype(np.float32)


def untrained(seed: int = 0) -> np.ndarray:
    """Grey, with the contrast that a fresh generator's images have (0.03 of real ones')."""
    return np.random.default_rng(seed).normal(0, 0.02, (SIDE**2, 28, 28, 1)).astype(np.float32)


def drawn(monitor: Monitors, *grids: np.ndarray, epoch: int = GROWN) -> list[Note]:
    return [note for i, grid in enumerate(grids) for note in monitor.grid(epoch + i, grid)]


@pytest.mark.parametrize("seed", range(5))
def test_real_images_are_varied_enough(seed: int) -> None:
    assert not drawn(make(), *[images(seed=10 * seed + i) for i in range(10)])


@pytest.mark.parametrize("digit", range(10))
def test_images_of_one_class_still_differ(digit: int) -> None:
    of_class = real()[digits.load(None).labels == digit][: SIDE**2] / 127.5 - 1
    assert not drawn(make(), of_class, of_class)


@pytest.mark.parametrize("seed", range(5))
def test_collapse_is_reported_at_the_second_grid_and_once(seed: int) -> None:
    monitor = make()
    assert not drawn(monitor, images(), images(seed=1), collapsed(seed), epoch=1)
    [note] = drawn(monitor, *[collapsed(seed + i) for i in range(5)], epoch=4)
    assert note.level == "warning"
    assert note.text.startswith(
        "Mode collapse: the images of G after epoch 4 are too similar: at equal contrast"
    )
    # beta_1 is 0.5 already
    assert note.text.endswith(
        "Clone the run and lower g_learning_rate (now 0.0001) or set loss=wgan_gp."
    )
    [note] = drawn(monitor, images(), collapsed(seed), images(), images(seed=1), epoch=9)
    assert (note.level, note.text) == ("info", "The images of G after epoch 12 are diverse again.")


def test_a_collapse_for_one_grid_is_none() -> None:
    assert not drawn(make(), *[collapsed(), images()] * 4)


def test_a_young_generator_is_no_alarm() -> None:
    monitor = make()
    assert not drawn(
        monitor, untrained(0), untrained(1), untrained(2), collapsed(), collapsed(), epoch=0
    )
    assert levels(drawn(monitor, untrained(), untrained())) == ["warning"]


@pytest.mark.parametrize("values", [{"optimizer": "sgd"}, {"ema": 0.999}, {"warmup_epochs": 20}])
def test_where_growth_is_not_known_variety_shows_it(values: dict[str, Any]) -> None:
    monitor = make(**values)
    assert not drawn(monitor, *[collapsed(i) for i in range(4)])
    assert levels(drawn(monitor, images(), *[collapsed(i) for i in range(4)])) == ["warning"]


def test_images_that_lose_their_contrast_have_collapsed() -> None:
    for dark in (np.full((SIDE**2, 28, 28, 1), -1.0), untrained()):
        [note] = drawn(make(), images(), dark, dark, epoch=1)
        assert note.text.startswith(
            "Mode collapse: the images of G after epoch 3 have lost contrast: it is "
        )


def test_nothing_is_said_of_what_cannot_be_evaluated() -> None:
    broken = np.full((SIDE**2, 28, 28, 1), np.nan, np.float32)
    assert not drawn(make(), images(), broken, broken)
    assert not drawn(make(grid_size=2), *[images()[:4], *[collapsed()[:4]] * 3])
    for useless in (
        np.zeros((50, 28, 28, 1), np.uint8),
        np.repeat(real()[:1], 50, axis=0),
        real()[:1],
    ):
        assert not drawn(Monitors(config(), PER_EPOCH, useless), images(), collapsed(), collapsed())


def test_real_images_in_any_order_give_the_same_measure() -> None:
    by_class = real()[np.argsort(digits.load(None).labels, kind="stable")]
    many = np.repeat(by_class, 5, axis=0)  # more than are compared
    np.testing.assert_allclose(Monitors(config(), PER_EPOCH, many)._real, make()._real, rtol=0.02)


# --- evaluations ---


def evaluated(monitor: Monitors, *found: tuple[float, float], epoch: int = GROWN) -> list[Note]:
    """What is said of evaluations (diversity, share of the commonest of ten classes)."""
    notes = []
    for i, (diversity, share) in enumerate(found):
        notes += monitor.evaluated(
            Quality(epoch + i, 1.0, 2.0, {"diversity": diversity}, (share, *[(1 - share) / 9] * 9))
        )
    return notes


GOOD, FEW, ONE = (0.75, 0.2), (0.3, 0.4), (0.6, 0.7)


@pytest.mark.parametrize("bad", [FEW, ONE])
def test_few_kinds_of_images_are_reported_at_the_second_evaluation(
    bad: tuple[float, float],
) -> None:
    monitor = make()
    assert not evaluated(monitor, GOOD, bad, GOOD, bad)
    notes = evaluated(monitor, bad, bad, bad, (0.45, 0.3), GOOD, bad, GOOD, GOOD, epoch=GROWN + 4)
    assert levels(notes) == ["warning", "info"]
    assert (
        f"after epoch {GROWN + 4}, G generates few kinds of images: pairs differ by {bad[0]:.0%}"
        in notes[0].text
    )
    assert "and 20% belong to one class." in notes[1].text


# (diversity, share of the commonest class) measured after every epoch on digits, with the settings
# of the preset `digits` with the rate 2e-4 and without an average...
HEALTHY = [
    (0.03, 1.00), (0.06, 0.75), (0.13, 0.52), (0.30, 0.40), (0.34, 0.51), (0.46, 0.35),
    (0.47, 0.28), (0.62, 0.24), (0.64, 0.34), (0.53, 0.64), (0.62, 0.29), (0.69, 0.34),
    (0.68, 0.19), (0.71, 0.19), (0.70, 0.23), (0.71, 0.18), (0.76, 0.18), (0.74, 0.19),
]  # fmt: skip
# ... and with a rate of G 25 times as high: one image at a time, another after every epoch
COLLAPSED = [
    (0.03, 1.00), (0.37, 0.69), (0.24, 0.97), (0.30, 0.47), (0.36, 0.48), (0.24, 0.89),
    (0.24, 0.52), (0.26, 0.57), (0.28, 0.65), (0.20, 0.65), (0.17, 0.42), (0.22, 0.74),
    (0.24, 1.00),
]  # fmt: skip


def test_measured_runs() -> None:
    healthy, ruined = (
        Monitors(load("digits", {"g_learning_rate": rate, "ema": 0.0}), 56, real())
        for rate in (2e-4, 5e-3)
    )
    assert not evaluated(healthy, *HEALTHY, epoch=0)
    [note] = evaluated(ruined, *COLLAPSED, epoch=0)
    assert note.text.startswith("Mode collapse: after epoch 2,")


def test_nothing_is_said_of_evaluations_without_values() -> None:
    assert not evaluated(make(), GOOD, *[(math.nan, math.nan)] * 5)


def test_without_classes_the_distances_alone_are_looked_at() -> None:
    def without(monitor: Monitors, *diversities: float) -> list[Note]:
        found = []
        for i, diversity in enumerate(diversities):
            quality = Quality(GROWN + i, 1.0, 2.0, {"diversity": diversity}, ())
            found += monitor.evaluated(quality)
        return found

    assert not without(make(), 0.75, 0.6, 0.5)
    [note] = without(make(), 0.75, 0.3, 0.3)
    assert "pairs differ by 30% of the difference between real pairs. " in note.text


def test_a_class_that_most_real_images_have_is_no_collapse() -> None:
    quality = [Quality(GROWN + i, 1.0, 2.0, {"diversity": 0.8}, (0.75, 0.25)) for i in range(3)]
    monitor, of_equal = make(), make()
    assert not [note for one in quality for note in monitor.evaluated(one, [0.7, 0.3])]
    assert [note for one in quality for note in of_equal.evaluated(one, [0.1] * 10)]
