"""The machines that share a queue: what each has and does, and which take no runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from ganboard.db import heartbeats
from ganboard.db.heartbeats import WorkerState
from ganboard.db.models import Run
from ganboard.db.placement import draining
from ganboard.db.runs import queries
from ganboard.worker.errors import UnknownMachine


@dataclass(frozen=True)
class Machine:
    """The workers of one HOME; none of a machine that is drained and away."""

    name: str
    workers: Sequence[WorkerState]
    drained_since: datetime | None
    trains: Sequence[Run]

    @property
    def alive(self) -> bool:
        return any(one.alive for one in self.workers)

    @property
    def state(self) -> str:
        """In a word."""
        if self.drained_since is not None:
            return "Draining" if self.trains else "Drained"
        return "Alive" if self.alive else "Silent"

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(label for one in self.workers for label in one.worker.labels))

    @property
    def devices(self) -> Mapping[str, Any]:
        """What it has, as of `gan.devices.probe.describe`; empty while that is unknown."""
        return next((one.worker.devices for one in self.workers if one.worker.devices), {})


def machines(engine: Engine) -> list[Machine]:
    """Those whose workers were seen within the hour or that are drained, by name."""
    seen, drained = heartbeats.workers(engine), draining.machines(engine)
    by_name: dict[str, list[WorkerState]] = {name: [] for name in drained}
    for state in seen:
        by_name.setdefault(state.worker.machine or state.worker.host, []).append(state)
    trained = [state.worker.run_id for state in seen if state.alive and state.worker.run_id]
    runs = {run.id: run for run in queries.get_runs(engine, trained)}
    return [
        Machine(
            name,
            workers,
            drained.get(name),
            [runs[one.worker.run_id] for one in workers if one.worker.run_id in runs],
        )
        for name, workers in sorted(by_name.items())
    ]


def find(engine: Engine, text: str) -> Machine:
    """The machine of this name, or the only one whose name begins so. Raises UnknownMachine."""
    known = machines(engine)
    exact = [one for one in known if one.name == text]
    begins = [one for one in known if text and one.name.startswith(text)]
    if len(found := exact or begins) == 1:
        return found[0]
    names = ", ".join(one.name for one in known) or "none has run a worker within the last hour"
    what = "More than one machine's name begins with" if found else "There is no machine"
    raise UnknownMachine(f"{what} {text[:80]!r}. Known machines: {names}.")
