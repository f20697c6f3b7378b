from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ganboard.db import calibrations
from ganboard.db.models import Calibration
from ganboard.gan.rehearsal import report as reports
from ganboard.gan.rehearsal.targets import parse_targets
from ganboard.worker.context import Context
from ganboard.worker.rehearsal.calibration import UNCALIBRATED, calibrated

MOMENT = datetime(2026, 11, 23, tzinfo=UTC)


def report(**changes: Any) -> dict[str, Any]:
    (target,) = parse_targets("4xh100")
    return {
        "compiles": True,
        "form": "step",
        "target": target.name,
        "model": "dcgan",
        "precision": "float32",
        "step_seconds": 0.001,
        "basis": reports.basis(target),
        **changes,
    }


def test_every_basis_says_that_it_is_not_calibrated() -> None:
    for target in parse_targets("v5e-1,h100"):
        assert UNCALIBRATED in reports.basis(target)


def test_without_a_measurement_a_report_stays_as_it_is(context: Context) -> None:
    assert calibrated(context.engine, report()) == report()


def test_a_factor_of_the_family_multiplies_the_step_time(context: Context) -> None:
    measured = Calibration(
        machine="box",
        target="h100",
        key="0" * 32,
        family="h100",
        model="dcgan",
        precision="float32",
        device="NVIDIA H100 80GB HBM3",
        measured_seconds=0.003,
        estimated_seconds=0.0015,
        measured_at=MOMENT,
    )
    calibrations.store(context.engine, [measured])
    found = calibrated(context.engine, report())
    assert (found["step_seconds"], found["uncalibrated_seconds"]) == (0.002, 0.001)
    assert "calibrated on NVIDIA H100 80GB HBM3, 2026-11-23 (x 2.00)" in found["basis"]
    assert UNCALIBRATED not in found["basis"]
    for changes in ({"precision": "mixed_bfloat16"}, {"form": "gradients"}, {"compiles": False}):
        assert calibrated(context.engine, report(**changes)) == report(**changes)
