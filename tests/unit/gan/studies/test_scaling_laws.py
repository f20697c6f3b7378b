"""Laws of batches and replicas: known constants are found again, published numbers give the
published derivations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ganboard.gan.studies import reference_results, scaling_laws

BATCHES = np.repeat([32, 64, 128, 256, 512], 5)


@pytest.mark.parametrize(("per_step", "per_image"), [(0.05, 0.001), (0.004, 0.002), (0.595, 0.001)])
def test_constants_are_recovered_from_noisy_times(per_step: float, per_image: float) -> None:
    within = []
    for seed in range(40):
        noise = 1 + 0.03 * np.random.default_rng(seed).standard_normal(len(BATCHES))
        law = scaling_laws.fit_batches(BATCHES, (per_image + per_step / BATCHES) * noise)
        assert abs(law.per_step - per_step) < 5 * law.per_step_error
        assert abs(law.per_image - per_image) < 5 * law.per_image_error
        assert law.per_image_error < 0.05 * per_image
        within.append(abs(law.per_step - per_step) < 2 * law.per_step_error)
    assert np.mean(within) > 0.8  # 95 % of the time within two standard errors


def test_exact_times_give_exact_constants() -> None:
    law = scaling_laws.fit_batches([64, 512], [0.001 + 0.595 / 64, 0.001 + 0.595 / 512])
    assert (law.per_step, law.per_image) == pytest.approx((0.595, 0.001))
    assert law.even_batch == pytest.approx(595)
    # the study's claim needs a fixed cost equals that of 595 images
    assert law.reduction(64, 512) == pytest.approx(0.79, abs=0.001)
    assert law.seconds(128) / law.seconds(64) == pytest.approx(0.549, abs=0.001)
    assert law.seconds(128, 60_000) == pytest.approx(60_000 * law.seconds(128))
    assert math.isnan(law.per_step_error)


def test_no_constant_is_negative() -> None:
    # larger batches slower: no fixed cost
    law = scaling_laws.fit_batches([32, 64, 128], [1.0, 1.1, 1.2])
    assert (law.per_step, law.even_batch) == (0.0, 0.0)
    assert law.per_image == pytest.approx(1.1, rel=0.1)
    law = scaling_laws.fit_batches([32, 64, 128], [1.0, 0.4, 0.1])
    assert law.per_image == 0.0
    assert law.even_batch == math.inf


@pytest.mark.parametrize(
    ("batches", "said"), [([], "No batch size"), ([64, 64], "Only batch size 64 was measured")]
)
def test_too_few_batches(batches: list[int], said: str) -> None:
    with pytest.raises(scaling_laws.TooFew, match=said):
        scaling_laws.fit_batches(batches, [1.0] * len(batches))


def test_the_published_speedups_give_the_derived_fractions() -> None:
    theirs = {1: 1.0, **reference_results.by_devices("multi-gpu")}
    fractions = [scaling_laws.karp_flatt(theirs[count], count) for count in (2, 3, 4)]
    assert fractions == pytest.approx([0.513, 0.389, 0.416], abs=0.001)
    serial = scaling_laws.fit_amdahl(theirs)
    assert serial == pytest.approx(0.426, abs=0.001)
    assert scaling_laws.amdahl([2, 3, 4, math.inf], serial) == pytest.approx(
        [1.40, 1.62, 1.76, 2.35], abs=0.005
    )
    with pytest.raises(scaling_laws.TooFew, match="two are needed"):
        scaling_laws.fit_amdahl({1: 1.0})


def test_speedups_count_from_the_fewest_replicas() -> None:
    found = scaling_laws.speedups(reference_results.by_devices("3dgan", "with prefetch"))
    assert list(found) == [1, 2, 4, 8, 16, 32, 64]
    assert found[64] == pytest.approx(51.13, abs=0.01)


@pytest.mark.parametrize(("serial", "replicas"), [(0.0, 4), (0.1, 2), (0.5, 8), (1.0, 3)])
def test_amdahl_and_karp_flatt_undo_each_other(serial: float, replicas: int) -> None:
    assert scaling_laws.karp_flatt(
        float(scaling_laws.amdahl(replicas, serial)), replicas
    ) == pytest.approx(serial)


def test_a_batch_that_was_held_out_is_predicted() -> None:
    batches = np.repeat([32, 64, 128, 256, 512], 3)
    law = scaling_laws.BatchLaw(0.05, 0.001, 0.0, 0.0)
    noise = np.random.default_rng(0).normal(1, 0.01, len(batches))
    errors = scaling_laws.held_out(
        batches, np.array([law.seconds(batch) for batch in batches]) * noise
    )
    assert list(errors) == [32, 64, 128, 256, 512]
    assert max(map(abs, errors.values())) < 0.05
    with pytest.raises(scaling_laws.TooFew, match=r"^At least three batch sizes are needed"):
        scaling_laws.held_out([32, 64], [1.0, 1.0])


def test_break_even() -> None:
    assert scaling_laws.break_even(12.0, 0.10, 0.08) == pytest.approx(600)
    assert scaling_laws.break_even(12.0, 0.10, 0.10) == math.inf
    assert scaling_laws.break_even(0.0, 0.10, 0.20) == 0.0


LAW = scaling_laws.BatchLaw(0.01, 0.001, 0.0, 0.0)


def test_without_scatter_a_forecast_is_the_law() -> None:
    for replicas, expected in ((1, 0.266), (2, 0.138), (4, 0.074)):
        found = scaling_laws.forecast(LAW, batch=256, replicas=replicas, relative_steps=[1.0])
        assert (found.seconds, found.low, found.high, found.waiting) == pytest.approx(
            (expected, expected, expected, 0.0)
        )
    found = scaling_laws.forecast(LAW, batch=256, replicas=4, relative_steps=[1.0], serial=1.0)
    assert found.seconds == pytest.approx(0.266)


def test_stragglers_cost_more_the_more_replicas_there_are() -> None:
    steps = np.random.default_rng(1).exponential(0.1, 1000) + 0.9
    found = [
        scaling_laws.forecast(LAW, batch=256, replicas=replicas, relative_steps=steps)
        for replicas in (1, 2, 8, 64)
    ]
    assert [one.waiting for one in found] == sorted(one.waiting for one in found)
    assert found[0].waiting == pytest.approx(0, abs=0.01)
    # the mean of the largest of n exponential times is their mean times the n-th harmonic number
    harmonic = sum(1 / k for k in range(1, 9))
    assert found[2].seconds == pytest.approx((0.01 + 0.032) * (0.9 + 0.1 * harmonic), rel=0.03)
    assert found[3].speedup(found[0]) < 64
