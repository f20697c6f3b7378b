"""Times by device, and how devices are named."""

from __future__ import annotations

import pytest

from ganboard.db.models import Run
from ganboard.worker.context import Context
from ganboard.worker.studies.results import devices
from ganboard.worker.studies.results.study_data import UNTESTED
from tests.unit.worker.studies.results.study_runs import MakeRun, made, study_run


def test_fig13_prints_both_readings_and_names_what_is_absent(
    context: Context, make_run: MakeRun
) -> None:
    study_run(make_run, 32, 10.0)
    study_run(make_run, 32, 8.0, replicas=2)
    study_run(make_run, 64, 1.0)
    study_run(make_run, 32, 1.0, d_steps=2)  # another setting differs: not the same question
    found = made(context, "fig13")
    assert found.verdict == UNTESTED
    assert "Only CPU was available." in found.finding
    table = found.table.set_index("device")
    assert table.loc["CPU, float32, 2 replicas (mirrored)", "less_time"] == pytest.approx(0.2)
    assert table.loc["CPU, float32, 2 replicas (mirrored)", "times_as_fast"] == pytest.approx(1.25)
    assert len(table) == 2


def test_devices_are_named_by_kind() -> None:
    config = {"precision": "float32", "replicas": 4}
    assert (
        devices.device(Run(name="", config=config, hardware={"gpus": [{"name": "H200"}]}))
        == "GPU, float32, 4 replicas (mirrored)"
    )
    assert (
        devices.device(Run(name="", config={**config, "replicas": 1}, hardware=None))
        == "CPU, float32, 1 replica"
    )
