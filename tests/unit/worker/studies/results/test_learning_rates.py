"""Nominal and effective learning rates, and the dips of a fixed rate."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ganboard.worker.context import Context
from ganboard.worker.studies.results import learning_rates
from ganboard.worker.studies.results.study_data import NOT_HERE, TOO_LITTLE
from tests.unit.worker.studies.results.study_runs import MakeRun, made, seeded, study_run


@pytest.mark.parametrize(
    ("values", "dips"),
    [
        ([3, 1, 3, 3, 1, 3], [2 / 6, 5 / 6]),
        ([1, 2, 3, 4], []),
        ([2, 2, 2], []),
        ([1.0], []),
        ([], []),
    ],
)
def test_dips_lie_below_both_neighbours(values: list[float], dips: list[float]) -> None:
    assert learning_rates._dips(np.array(values, dtype=float)) == pytest.approx(dips)


def test_fig9_shows_nominal_and_effective_rates(context: Context, make_run: MakeRun) -> None:
    study_run(make_run, 32, 10.0)
    study_run(make_run, 64, 10.0)
    found = made(context, "fig9")
    assert found.figure is not None
    assert [re.sub(r" \(\w+\)", "", trace.name) for trace in found.figure.data] == [
        f"Batch {batch}, {kind}" for batch in (32, 64) for kind in ("nominal", "effective")
    ]
    assert found.verdict == TOO_LITTLE
    assert "The claim is about batch 512" in found.finding


@pytest.mark.thorough
def test_fig9_evaluates_the_fixed_rate_at_batch_512(context: Context, make_run: MakeRun) -> None:
    for batch in (64, 512):
        seeded(make_run, batch, 10.0, epochs=30)
    found = made(context, "fig9")
    assert found.verdict == NOT_HERE  # the factory's rates only rise
    assert "at batch 512 dips at none of the run" in found.finding
