"""The monitors of D's opinion and of replicas."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganboard.gan.events import Note
from ganboard.gan.training.guards import monitors
from ganboard.gan.training.guards.monitors import Monitors
from tests.unit.gan.training.monitored import PER_EPOCH, config, levels, make, real

WINDOW = PER_EPOCH // 4


# --- D's opinion ---


def played(
    monitor: Monitors,
    *games: tuple[float, float],
    first: int = 0,
    length: int = WINDOW,
    call: int = 7,
) -> list[Note]:
    """What is said when D's opinion is each of `games` for `length` steps with noise of mean 0,
    reported `call` steps at a time."""
    noise = np.resize([-0.01, 0.01], len(games) * length)
    values = np.clip(np.repeat(np.array(games).T, length, axis=1) + noise, 0, 1).astype(np.float32)
    calls = range(0, values.shape[1], call)
    return [
        note
        for i in calls
        for note in monitor.opinions(first + i, values[0, i : i + call], values[1, i : i + call])
    ]


@pytest.mark.parametrize(
    "game",
    [
        (0.5, 0.5),
        (0.55, 0.45),
        (0.8, 0.57),
        (0.77, 0.37),
        (0.93, 0.13),
        (0.94, 0.08),
        (0.3, 0.3),
        (math.nan,) * 2,
    ],
)
def test_a_game_that_both_play_is_no_alarm(game: tuple[float, float]) -> None:
    assert not played(make(), *[game] * 12)


def test_d_that_wins_is_reported_once_and_so_is_the_end_of_it() -> None:
    monitor = make()
    [warning] = played(monitor, (0.6, 0.4), *[(0.99, 0.01)] * 9)
    assert warning.level == "warning"
    assert warning.text.startswith(
        "D dominates: over the 100 steps up to step 200 of epoch 1 its mean output was 0.99 for"
        " real and 0.01 for generated images"
    )
    assert warning.text.endswith(
        "Clone the run and lower d_learning_rate (now 0.0002), set label_smoothing=0.1 or set"
        " r1=10."
    )
    # between the bounds nothing is said
    assert not played(monitor, (0.93, 0.07), (0.99, 0.01), (0.93, 0.07), first=10 * WINDOW)
    notes = played(monitor, (0.7, 0.3), (0.99, 0.01), first=13 * WINDOW)
    assert levels(notes) == ["info", "warning"]
    assert notes[0].text.startswith(
        "D no longer dominates: over the 100 steps up to step 200 of epoch 4"
    )


def test_remedies_that_are_in_place_are_not_advised() -> None:
    # D is taught to say 0.8
    [note] = played(make(label_smoothing=0.2, r1=1, d_steps=3), (0.79, 0.01))
    assert note.text.endswith("lower d_learning_rate (now 0.0002) or set d_steps=1.")


@pytest.mark.parametrize("game", [(0.3, 0.7), (0.99, 0.99), (0.01, 0.01)])
def test_d_that_is_wrong_or_sees_no_difference_at_all_fails(game: tuple[float, float]) -> None:
    monitor = make()
    [note] = played(monitor, *[game] * 5)
    assert note.level == "warning"
    assert note.text.startswith("D fails: ")
    assert note.text.endswith(
        "lower g_learning_rate (now 0.0001) or raise d_learning_rate or d_steps."
    )
    [note] = played(monitor, (0.52, 0.49), first=5 * WINDOW)
    assert note.level == "info"
    assert note.text.startswith("D has recovered: ")


@pytest.mark.parametrize("loss", ["hinge", "wgan_gp"])
def test_logits_that_are_no_probabilities_are_not_watched(loss: str) -> None:
    assert not played(make(loss=loss), *[(0.99, 0.01)] * 5)


def test_a_d_that_g_does_not_learn_from_may_win() -> None:
    flow = {"model": "pix2pix", "dataset": "vortex_street"}
    assert played(make(**flow), *[(0.99, 0.01)] * 5)
    assert not played(make(**flow, adversarial_weight=0), *[(0.99, 0.01)] * 5)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 5 * WINDOW), max_size=8))
def test_how_steps_are_divided_among_calls_makes_no_difference(cuts: list[int]) -> None:
    opinions = np.repeat([[0.6, 0.99, 0.5, 0.2], [0.4, 0.01, 0.5, 0.8]], 150, axis=1)
    whole, parts = make(grid_size=2), make(grid_size=2)  # without images to prepare
    edges = sorted({0, *cuts, 600})
    found = [
        note
        for a, b in pairwise(edges)
        for note in parts.opinions(a, opinions[0, a:b], opinions[1, a:b])
    ]
    assert found == whole.opinions(0, *opinions)
    assert levels(found) == ["warning", "info", "warning"]


def test_steps_before_a_roll_back_do_not_count() -> None:
    monitor = make()
    assert not played(monitor, (0.99, 0.01), length=WINDOW - 1)
    assert not played(monitor, (0.99, 0.01), length=WINDOW - 1, first=10)
    assert levels(played(monitor, (0.99, 0.01), length=1, first=WINDOW + 9)) == ["warning"]


def test_short_epochs_are_monitored_over_enough_steps() -> None:
    monitor = Monitors(config(), 4, real())
    assert not monitor.opinions(
        0, np.ones(monitors.WINDOW_STEPS - 1), np.zeros(monitors.WINDOW_STEPS - 1)
    )
    assert (
        "up to step 2 of epoch 13"
        in monitor.opinions(monitors.WINDOW_STEPS - 1, np.ones(1), np.zeros(1))[0].text
    )


# --- replicas ---


def timed(medians: list[float], steps: int = 50) -> np.ndarray:
    """Seconds [steps, replicas] with a tenth of noise and a slow first step."""
    seconds = np.array(medians) * np.random.default_rng(0).uniform(0.9, 1.1, (steps, len(medians)))
    seconds[0] += 5
    return seconds


def test_a_straggler_is_named_with_what_it_costs() -> None:
    monitor = make(batch_size=32, replicas=4)
    assert not monitor.replicas(1, timed([0.1, 0.1, 0.11, 0.1]))
    [note] = monitor.replicas(2, timed([0.1, 0.1, 0.2, 0.1]))
    assert note.level == "warning"
    assert note.text.startswith("Replica 2 of 4, counted from 0, is slow: its median step took ")
    cost = float(note.text.split("which cost ")[1].split(" s in this epoch")[0])
    assert cost == pytest.approx(50 * 0.1, rel=0.15)
    assert not monitor.replicas(3, timed([0.1, 0.1, 0.2, 0.1]))
    assert not monitor.replicas(4, timed([0.1, 0.1, 0.12, 0.1]))
    [note] = monitor.replicas(5, timed([0.1, 0.1, 0.1, 0.1]))
    assert (note.level, "Replica 2 of 4, counted from 0, is no longer slow" in note.text) == (
        "info",
        True,
    )


def test_of_two_replicas_only_the_slow_one_is_named() -> None:
    notes = make(batch_size=32, replicas=2).replicas(1, timed([0.3, 0.1]))
    assert ["Replica 0" in note.text for note in notes] == [True]


def test_the_host_of_a_slow_replica_is_named() -> None:
    two = config(batch_size=32, replicas=2)
    monitor = Monitors(two, 10, np.zeros([2, 4, 4, 1], np.uint8), ("box1", "box2"))
    [note] = monitor.replicas(1, timed([0.1, 0.3]))
    assert note.text.startswith("Replica 1 of 2 on box2, counted from 0,")


def test_too_little_to_compare() -> None:
    assert not make().replicas(1, timed([0.1]))
    assert not make(batch_size=32, replicas=2).replicas(
        1, timed([0.1, 0.5], steps=monitors.TIMED_STEPS - 1)
    )
