from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganboard.gan.config import parse
from ganboard.gan.training.lr_schedules import rates, scaling

PER_EPOCH = 20


def both(
    steps: int = 30 * PER_EPOCH, factor: float = 1.0, **values: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Rates [steps] of a 30-epoch run whose G is set to 1 and D to 0.5."""
    config = parse({"epochs": 30, "g_learning_rate": 1.0, "d_learning_rate": 0.5, **values})
    return rates(config, PER_EPOCH, np.arange(steps), factor)


def lowest(per_epoch: np.ndarray) -> list[int]:
    """Epochs, counted from 1, whose value is below that of both neighbours."""
    inner = per_epoch[1:-1]
    return (np.flatnonzero((inner < per_epoch[:-2]) & (inner < per_epoch[2:])) + 2).tolist()


def test_constant_is_what_was_set() -> None:
    g, d = both()
    assert g.dtype == d.dtype == np.float32
    assert set(g) == {1.0}
    assert set(d) == {0.5}


@pytest.mark.parametrize("per_epoch", [1, 3, 117, 937])
def test_cyclic_is_lowest_in_epochs_7_and_24_as_in_figure_9(per_epoch: int) -> None:
    config = parse({"epochs": 30, "schedule": "cyclic", "g_learning_rate": 1e-4})
    epochs = rates(config, per_epoch, np.arange(30 * per_epoch))[0].reshape(30, per_epoch)
    assert lowest(epochs[:, -1]) == lowest(epochs.mean(1, dtype=np.float64)) == [7, 24]
    np.testing.assert_allclose(epochs[[6, 23], -1], 1e-5, rtol=1e-6)
    assert (np.diff(epochs[23:, -1]) > 0).all()  # and then rises to the end


def test_cyclic_is_the_curve_of_figure_9() -> None:
    depth, e = 0.6, np.arange(1, 30 * PER_EPOCH + 1) / PER_EPOCH
    r, a = 1 - depth / 2, depth / (2 - depth)
    g, _ = both(schedule="cyclic", schedule_depth=depth)
    np.testing.assert_allclose(g, r * (1 + a * np.cos(2 * np.pi * (e - 15.5) / 17)), rtol=1e-6)


def test_cosine_falls_and_restarts_at_the_full_rate() -> None:
    g, _ = both(schedule="cosine_restart", schedule_period=10, schedule_depth=0.8)
    periods = g.reshape(3, 10 * PER_EPOCH)
    assert set(periods[:, 0]) == {1.0}
    assert (np.diff(periods) < 0).all()
    np.testing.assert_allclose(periods[:, 5 * PER_EPOCH], 0.6, rtol=1e-6)  # half way down
    np.testing.assert_allclose(periods[:, -1], 0.2, atol=1e-4)


@pytest.mark.parametrize(
    ("who", "moves"),
    [("both", (True, True)), ("generator", (True, False)), ("discriminator", (False, True))],
)
def test_a_schedule_moves_the_nets_it_is_for(who: str, moves: tuple[bool, bool]) -> None:
    assert tuple(np.ptp(r) > 0 for r in both(schedule="cyclic", schedule_for=who)) == moves


def test_warm_up_rises_by_equal_parts_and_ends_at_the_value() -> None:
    g, d = both(warmup_epochs=2.5, lr_scaling="linear", batch_size=256)
    w = int(2.5 * PER_EPOCH)
    np.testing.assert_allclose(g[:w], 4 * np.arange(1, w + 1) / w, rtol=1e-6)
    assert set(g[w - 1 :]) == {4.0}
    assert set(d[w - 1 :]) == {2.0}


def test_warm_up_shorter_than_a_step_changes_nothing() -> None:
    assert set(both(warmup_epochs=0.01)[0]) == {1.0}


@pytest.mark.parametrize(("how", "wanted"), [("none", 1.0), ("linear", 8.0), ("sqrt", 8**0.5)])
def test_scaling_with_the_batch(how: str, wanted: float) -> None:
    assert scaling(parse({"batch_size": 512, "lr_scaling": how})) == wanted
    g, d = both(batch_size=512, lr_scaling=how)
    assert g[0] == np.float32(wanted)
    assert d[0] == np.float32(wanted / 2)


def test_a_factor_reaches_both_nets() -> None:
    for whole, halved in zip(
        both(schedule="cyclic"), both(schedule="cyclic", factor=0.5), strict=True
    ):
        np.testing.assert_array_equal(halved, whole / 2)


@settings(deadline=None)
@given(
    schedule=st.sampled_from(["constant", "cosine_restart", "cyclic"]),
    who=st.sampled_from(["both", "generator", "discriminator"]),
    period=st.floats(0.01, 30),
    minimum=st.floats(0, 30),
    depth=st.floats(0, 1),
    warmup=st.floats(0, 30),
    scale=st.sampled_from(["none", "linear", "sqrt"]),
    batch=st.sampled_from([1, 16, 64, 4096]),
    cuts=st.lists(st.integers(0, 600), max_size=4),
)
def test_rates_stay_within_their_bounds_and_know_no_past(
    schedule: str,
    who: str,
    period: float,
    minimum: float,
    depth: float,
    warmup: float,
    scale: str,
    batch: int,
    cuts: list[int],
) -> None:
    config = parse(
        {
            "epochs": 30, "schedule": schedule, "schedule_for": who, "schedule_period": period,
            "schedule_minimum": minimum, "schedule_depth": depth, "warmup_epochs": warmup,
            "lr_scaling": scale, "batch_size": batch,
        }
    )  # fmt: skip
    steps = np.arange(600)
    whole = np.stack(rates(config, PER_EPOCH, steps))
    assert (whole <= np.float32(config.g_learning_rate * scaling(config))).all()
    assert (whole >= 0).all()
    if depth < 0.999:
        assert (whole > 0).all()
    parts = np.split(steps, sorted(cuts))  # a run that stopped and went on at any steps
    np.testing.assert_array_equal(
        whole, np.concatenate([np.stack(rates(config, PER_EPOCH, part)) for part in parts], axis=1)
    )
