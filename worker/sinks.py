"""Where a run's events go: into the database, under the fence of one attempt."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_random_exponential

from db import reports
from gan.config import RunConfig
from gan.events import EpochDone, Event, Facts, Grid, Note, Phase, Quality, Saved, Sink, Started, Steps

OUTAGE_SECONDS = 600  # how long a write waits for a database that went away


class DbSink:
    """Writes every event of one attempt; raises LeaseLost as soon as another attempt owns the run."""

    def __init__(self, engine: Engine, run_id: str, attempt: int, config: RunConfig) -> None:
        self._engine, self._config = engine, config
        self._owner: dict[str, Any] = {"run_id": run_id, "attempt": attempt}
        self._last_steps: float | None = None

    @retry(
        retry=retry_if_exception_type(OperationalError),
        wait=wait_random_exponential(max=5),
        stop=stop_after_delay(OUTAGE_SECONDS),
        reraise=True,
    )
    def __call__(self, event: Event) -> None:
        match event:
            case Phase():
                reports.set_phase(self._engine, **self._owner, phase=event.name)
            case Started():
                reports.set_started(self._engine, **self._owner, **vars(event))
            case Steps():
                reports.append_steps(self._engine, **self._owner, **vars(event), images_per_second=self._rate(event))
            case EpochDone():
                reports.finish_epoch(self._engine, **self._owner, **vars(event), steps=event.images // self._config.batch_size)
            case Quality():
                reports.add_quality(self._engine, **self._owner, **vars(event))
            case Facts():
                reports.add_facts(self._engine, **self._owner, **vars(event))
            case Grid():
                reports.add_grid(self._engine, **self._owner, **vars(event))
            case Saved():
                reports.add_checkpoint(self._engine, **self._owner, **vars(event), keep=self._config.keep_checkpoints)
            case Note():
                reports.add_event(self._engine, **self._owner, **vars(event))

    def _rate(self, event: Steps) -> float | None:
        """Images per second since the previous report, for the moments before the first epoch has a figure of its own."""
        now, before = time.monotonic(), self._last_steps
        self._last_steps = now
        return len(event.g_losses) * self._config.batch_size / (now - before) if before else None


class Both:
    """Passes events to one sink, then to another."""

    def __init__(self, first: Sink, second: Sink) -> None:
        self._sinks = (first, second)

    def __call__(self, event: Event) -> None:
        for sink in self._sinks:
            sink(event)
