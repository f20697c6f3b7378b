from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from ganboard.db import calibrations, rehearsals
from ganboard.db.models import Calibration

MOMENT = datetime(2026, 11, 23, tzinfo=UTC)
KEY = "0" * 32


def calibration(**changes: Any) -> Calibration:
    values: dict[str, Any] = {
        "machine": "box-ab12cd34",
        "target": "t4",
        "key": KEY,
        "family": "t4",
        "model": "dcgan",
        "precision": "float32",
        "device": "Tesla T4",
        "measured_seconds": 0.003,
        "estimated_seconds": 0.002,
        "measured_at": MOMENT,
    }
    return Calibration(**{**values, **changes})


def test_the_factor_is_measured_over_estimated(engine: Engine) -> None:
    calibrations.store(engine, [calibration()])
    found = calibrations.factor(engine, "t4", "dcgan", "float32")
    assert found is not None
    assert (found.value, found.device, found.measured_at) == (1.5, "Tesla T4", MOMENT)
    assert not found.imported
    assert calibrations.factor(engine, "t4", "dcgan", "mixed_float16") is None
    assert calibrations.factor(engine, "h100", "dcgan", "float32") is None


def test_a_second_measurement_takes_the_place_of_the_first(engine: Engine) -> None:
    calibrations.store(engine, [calibration()])
    calibrations.store(engine, [calibration(measured_seconds=0.004)])
    ((one, factor),) = calibrations.listed(engine)
    assert (one.measured_seconds, factor) == (0.004, 2.0)


def test_what_was_measured_here_counts_before_newer_imports(engine: Engine) -> None:
    later = MOMENT + timedelta(days=1)
    foreign = calibration(
        machine="elsewhere", measured_seconds=0.008, measured_at=later, imported_at=later
    )
    calibrations.store(engine, [foreign, calibration()])
    found = calibrations.factor(engine, "t4", "dcgan", "float32")
    assert found is not None
    assert found.machine == "box-ab12cd34"
    assert [one.machine for one, _ in calibrations.listed(engine)] == ["elsewhere", "box-ab12cd34"]


def test_a_rehearsal_that_comes_later_gives_the_factor(engine: Engine) -> None:
    calibrations.store(engine, [calibration(estimated_seconds=None)])
    assert calibrations.factor(engine, "t4", "dcgan", "float32") is None
    rehearsals.store(engine, KEY, "t4", {"form": "gradients", "step_seconds": 1.0})
    assert calibrations.factor(engine, "t4", "dcgan", "float32") is None
    rehearsals.store(engine, KEY, "t4", {"form": "step", "step_seconds": 0.001})
    found = calibrations.factor(engine, "t4", "dcgan", "float32")
    assert found is not None
    assert found.value == 3.0
