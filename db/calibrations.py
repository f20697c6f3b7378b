"""Calibrations: step times that were measured on devices for which rehearsals estimate them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine
from sqlmodel import Session, col, select

from ganboard.db.engine import reading, writing
from ganboard.db.models import Calibration, Rehearsal


@dataclass(frozen=True)
class Factor:
    """What the estimates of a family, model and precision are multiplied by."""

    value: float  # measured / estimated
    device: str
    measured_at: datetime
    machine: str
    imported: bool  # another installation measured it


def store(engine: Engine, calibrations: Iterable[Calibration]) -> None:
    """Keep each in place of the former one of that machine, target and key."""
    with writing(engine) as session:
        for calibration in calibrations:
            session.merge(calibration)


def listed(engine: Engine) -> list[tuple[Calibration, float | None]]:
    """All calibrations with their factors, the newest first. Where no rehearsal was known when it
    was measured, the factor is that of a rehearsal stored since; None without any."""
    with reading(engine) as session:
        found = list(
            session.exec(select(Calibration).order_by(col(Calibration.measured_at).desc()))
        )
        return [(one, _factor(session, one)) for one in found]


def factor(engine: Engine, family: str, model: str, precision: str) -> Factor | None:
    """The newest factor that was measured here, else the newest of another installation."""
    with reading(engine) as session:
        found = session.exec(
            select(Calibration)
            .where(
                col(Calibration.family) == family,
                col(Calibration.model) == model,
                col(Calibration.precision) == precision,
            )
            .order_by(
                col(Calibration.imported_at).is_not(None), col(Calibration.measured_at).desc()
            )
        ).all()
        for one in found:
            if value := _factor(session, one):
                imported = one.imported_at is not None
                return Factor(value, one.device, one.measured_at, one.machine, imported)
    return None


def _factor(session: Session, calibration: Calibration) -> float | None:
    estimated = calibration.estimated_seconds
    if estimated is None:
        rehearsal = session.get(Rehearsal, (calibration.key, calibration.target))
        estimated = _step_seconds(rehearsal.report) if rehearsal else None
    return calibration.measured_seconds / estimated if estimated else None


def _step_seconds(report: Mapping[str, object]) -> float | None:
    """Uncalibrated, as it is stored; only of the whole step, which is what was measured."""
    seconds = report.get("step_seconds") if report.get("form") == "step" else None
    return float(seconds) if isinstance(seconds, int | float) and seconds > 0 else None
