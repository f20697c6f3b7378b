"""The workers and inference workers that are alive, as far as their heartbeats tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, delete
from sqlmodel import col, select

from ganboard.db import clock
from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.models import ALERTS, CLAIMS, INFERENCE, NODE, SEARCHES, TRAINING, Worker

WORKER_ALIVE_SECONDS = 15.0
WORKER_FORGOTTEN_SECONDS = 3600.0


@dataclass(frozen=True)
class WorkerState:
    """A worker and the age of its last heartbeat, by the database's clock."""

    worker: Worker
    age_seconds: float

    @property
    def alive(self) -> bool:
        return self.age_seconds < WORKER_ALIVE_SECONDS


def record(
    engine: Engine,
    *,
    name: str,
    kind: str = TRAINING,
    host: str,
    pid: int,
    run_id: str | None,
    devices: dict[str, Any] | None = None,
    machine: str | None = None,
    boot: str | None = None,
    labels: Sequence[str] = (),
    address: str = "",
) -> None:
    """A worker's heartbeat; `devices` is kept from the last one that had it."""
    with writing(engine) as session:
        worker = session.get(Worker, name, with_for_update=True) or Worker(
            name=name, host=host, pid=pid
        )
        worker.kind = kind
        worker.host = host
        worker.pid = pid
        worker.run_id = run_id
        worker.devices = devices or worker.devices
        worker.machine = machine
        worker.boot = boot
        worker.labels = list(labels)
        worker.address = address
        worker.heartbeat_at = now()  # type: ignore[assignment]
        session.add(worker)
        forgotten = col(Worker.heartbeat_at) < now(-WORKER_FORGOTTEN_SECONDS)
        session.execute(delete(Worker).where(forgotten))


def forget(engine: Engine, *, name: str) -> None:
    with writing(engine) as session:
        session.execute(delete(Worker).where(col(Worker.name) == name))


def workers(engine: Engine) -> list[WorkerState]:
    """The workers that train and were alive within the hour before the newest heartbeat, by
    name."""
    return _of_kind(engine, TRAINING)


def inference_workers(engine: Engine) -> list[WorkerState]:
    """The same of those that answer requests and train nothing; `devices["warm"]`: whether
    TensorFlow is loaded."""
    return _of_kind(engine, INFERENCE)


def alert_senders(engine: Engine) -> list[WorkerState]:
    """The same of the processes that send alerts."""
    return _of_kind(engine, ALERTS)


def search_drivers(engine: Engine) -> list[WorkerState]:
    """The same of the processes that submit the runs of searches."""
    return _of_kind(engine, SEARCHES)


def claim_runners(engine: Engine) -> list[WorkerState]:
    """The same of the processes that run the pairs of claims."""
    return _of_kind(engine, CLAIMS)


def nodes(engine: Engine) -> list[WorkerState]:
    """The same of the tasks of other schedulers' jobs."""
    return _of_kind(engine, NODE)


def drivers(engine: Engine, scheduler: str) -> list[WorkerState]:
    """The same of the processes that submit jobs to a scheduler."""
    return _of_kind(engine, scheduler)


def _of_kind(engine: Engine, kind: str) -> list[WorkerState]:
    with reading(engine) as session:
        present = clock.read(session)
        found = session.exec(
            select(Worker).where(col(Worker.kind) == kind).order_by(col(Worker.name))
        )
        return [
            WorkerState(worker, (present - worker.heartbeat_at).total_seconds()) for worker in found
        ]
