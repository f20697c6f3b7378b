"""When the steps of a run were taken: in seconds of training, and by the clock. Known at the ends
of epochs, interpolated in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine
from sqlmodel import Session, col, select

from ganboard.db.engine import reading
from ganboard.db.models import Epoch, Run, StepLosses
from ganboard.db.types import Float32s

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Timeline:
    """One entry for each finished epoch and one for the epoch that follows, which is extrapolated
    from the last one.

    Training seconds are those of the steps alone, summed over all attempts: they grow without gaps
    however often a run was resumed. The clock has the pauses. Steps count from 1 over the whole
    run.
    """

    per_epoch: int  # steps
    newest: int  # the newest step of the run
    passed: Floats  # [n + 1] training seconds before each epoch and after the last, ascending
    begins: Floats  # [n] by the clock, seconds since 1970
    ends: Floats  # [n] ascending

    def _place(self, steps: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
        """The epoch (from 0) in which each step lies, and the share of it that has passed with that
        step."""
        epoch = np.clip(np.ceil(steps / self.per_epoch) - 1, 0, len(self.ends) - 1).astype(np.intp)
        return epoch, steps / self.per_epoch - epoch

    def training_seconds(self, steps: Floats) -> Floats:
        epoch, share = self._place(steps)
        return self.passed[epoch] + share * (self.passed[epoch + 1] - self.passed[epoch])

    def time(self, steps: Floats) -> npt.NDArray[np.datetime64]:
        """UTC, to the millisecond."""
        epoch, share = self._place(steps)
        return as_utc(self.begins[epoch] + share * (self.ends[epoch] - self.begins[epoch]))

    def step_at(self, moments: Floats) -> Floats:
        """The step, with a fraction, during which each moment (seconds since 1970) lies; in a pause
        the last one before it."""
        epoch = np.clip(np.searchsorted(self.ends, moments), 0, len(self.ends) - 1)
        share = np.clip(
            (moments - self.begins[epoch])
            / np.maximum(self.ends[epoch] - self.begins[epoch], 1e-9),
            0,
            1,
        )
        return np.minimum((epoch + share) * self.per_epoch, self.newest)

    def columns(self, steps: npt.ArrayLike) -> dict[str, Any]:
        """The four x axes of steps [n]: step, epoch (epochs passed, with a fraction),
        training_seconds, time."""
        at = np.asarray(steps, dtype=np.float64)
        return {
            "step": steps,
            "epoch": at / self.per_epoch,
            "training_seconds": self.training_seconds(at),
            "time": self.time(at),
        }


def as_utc(seconds: Floats) -> npt.NDArray[np.datetime64]:
    """Seconds since 1970 as times without a zone, to the millisecond."""
    return np.round(seconds * 1000).astype("datetime64[ms]")


def losses(
    rows: Sequence[Any], times: Timeline | None
) -> tuple[Callable[[Any], dict[str, Any]], dict[str, Floats]] | None:
    """The axes at some positions of n steps, and by net the losses [n] of all, of `rows` of
    `StepLosses` in the order of their epochs; None without a timeline."""
    if times is None:
        return None
    curves = {
        "g": np.concatenate([row.g_losses for row in rows]),
        "d": np.concatenate([row.d_losses for row in rows]),
    }
    step = np.concatenate(
        [(row.epoch - 1) * times.per_epoch + 1 + np.arange(len(row.g_losses)) for row in rows]
    )
    losses = {net: values.astype(np.float64) for net, values in curves.items()}
    return lambda kept: times.columns(step[kept]), losses


def of_run(engine: Engine, run_id: str) -> Timeline | None:
    """As `read`, in its own session."""
    with reading(engine) as session:
        return read(session, run_id)


def read(session: Session, run_id: str) -> Timeline | None:
    """The timeline of a run; None until its trainer has said how many steps an epoch has."""
    columns: tuple[Any, ...] = (
        Run.steps_per_epoch,
        Run.step,
        Run.started_at,
        Run.phase,
        Run.phase_since,
        Run.images_per_second,
        Run.config,
    )
    run = session.execute(select(*columns).where(col(Run.id) == run_id)).one_or_none()
    if run is None or not run.steps_per_epoch or run.started_at is None:
        return None
    rows = session.execute(
        select(Epoch.finished_at, Epoch.seconds)
        .where(col(Epoch.run_id) == run_id)
        .order_by(col(Epoch.epoch))
    ).all()
    seconds = np.array([row.seconds for row in rows])
    # an epoch that is trained again ends later than one after it that an earlier attempt had
    # finished
    ends = (
        np.maximum.accumulate([row.finished_at.timestamp() for row in rows])
        if rows
        else np.zeros(0)
    )
    begins = (
        np.maximum(ends - seconds, np.concatenate([[-np.inf], ends[:-1]])) if rows else np.zeros(0)
    )
    if rows:
        next_begins, next_takes = ends[-1], seconds[-1]
    else:
        next_begins = (run.phase_since if run.phase == "training" else run.started_at).timestamp()
        next_takes = (
            run.steps_per_epoch * run.config["batch_size"] / run.images_per_second
            if run.images_per_second
            else 0.0
        )
    passed = np.concatenate([[0.0], np.cumsum([*seconds, next_takes])])
    return Timeline(
        run.steps_per_epoch,
        run.step,
        passed,
        np.append(begins, next_begins),
        np.append(ends, next_begins + next_takes),
    )


def all_losses(engine: Engine, run_id: str) -> dict[str, Float32s]:
    """The losses of every stored step in order, [steps] by net, "g" and "d"."""
    with reading(engine) as session:
        rows = session.execute(
            select(StepLosses.g_losses, StepLosses.d_losses)  # type: ignore[call-overload]
            .where(col(StepLosses.run_id) == run_id)
            .order_by(col(StepLosses.epoch))
        ).all()
    empty = np.empty(0, dtype=np.float32)
    return {
        "g": np.concatenate([empty, *(row.g_losses for row in rows)]),
        "d": np.concatenate([empty, *(row.d_losses for row in rows)]),
    }
