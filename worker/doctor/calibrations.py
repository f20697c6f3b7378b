"""Machines whose step times calibrate the estimates of rehearsals: this one and imported ones."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Engine

from ganboard.db import calibrations
from ganboard.worker.doctor.check import Check
from ganboard.worker.formatting import clean, duration

_SHOWN = 4  # step times of a machine


def measured(engine: Engine) -> Iterator[Check]:
    """A finding for each machine."""
    machines: dict[str, list[str]] = {}
    for one, factor in calibrations.listed(engine):
        words = f"{one.model} {one.precision} {duration(one.measured_seconds)} a step"
        known = f" (x {factor:.2f} of its rehearsal)" if factor else ""
        machines.setdefault(one.machine, []).append(f"{words} on {one.target}{known}")
    for name, texts in machines.items():
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        text = f"{name}: {'; '.join(texts[:_SHOWN])}{more}"
        yield Check("calibration", "ok", clean(text))
