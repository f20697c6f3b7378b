"""The parts of a step, and which of them takes longest."""

from __future__ import annotations

import pytest

from ganboard.worker.context import Context
from tests.unit.worker.studies.results.study_runs import MakeRun, made, study_run


def test_the_bottleneck_of_each_configuration(context: Context, make_run: MakeRun) -> None:
    for replicas in (1, 2):
        study_run(make_run, 64, 10.0, replicas=replicas)
    found = made(context, "bottleneck")
    assert found.table["runs"].tolist() == ["1 replica", "2 replicas (mirrored)"]
    assert found.table["reduce"].tolist() == pytest.approx([0.0, 0.1])
    assert (
        "Forward, backward and update: the largest part of 2 configurations, up to 90 %."
        in found.finding
    )
