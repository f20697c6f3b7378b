"""A rehearsal's step time, corrected by what was measured on a device of that family; for
the command line and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine

from ganboard.db import calibrations
from ganboard.gan.config import ConfigError
from ganboard.gan.rehearsal.targets import parse_targets
from ganboard.worker.formatting import clean, shorten

UNCALIBRATED = "not calibrated on a device"  # as `gan.rehearsal.report.basis` ends


def calibrated(engine: Engine, report: Mapping[str, Any]) -> dict[str, Any]:
    """The report with its step time multiplied by the factor of its family, model and precision,
    which its basis names; unchanged where nothing was measured."""
    found = dict(report)
    if not report["compiles"] or report["form"] != "step":
        return found
    try:
        family = parse_targets(report["target"])[0].family
    except ConfigError:  # of a version that knows more targets
        return found
    factor = calibrations.factor(engine, family, report["model"], report["precision"])
    if factor is None:
        return found
    device = shorten(clean(factor.device))
    words = f"calibrated on {device}, {factor.measured_at:%Y-%m-%d} (x {factor.value:.2f})"
    return {
        **found,
        "step_seconds": report["step_seconds"] * factor.value,
        "uncalibrated_seconds": report["step_seconds"],
        "calibrated": words,
        "basis": report["basis"].replace(UNCALIBRATED, words),
    }
