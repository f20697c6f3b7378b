"""Where a run's events go: into the database, under the fence of one attempt."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Queue
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Engine

from ganboard.db.runs import checkpoint_reports, reports
from ganboard.gan.config import RunConfig
from ganboard.gan.events import (
    EpochDone,
    Event,
    Facts,
    Grid,
    Note,
    OnDisk,
    Phase,
    PhaseProgress,
    Quality,
    Saved,
    Sink,
    Started,
    Steps,
)
from ganboard.worker.formatting import phase_progress
from ganboard.worker.training.retry import DatabaseUnavailable, retry_while_unavailable

POLL_SECONDS = 0.1  # between checks for termination, while waiting for the database
REPORT_SECONDS = 5.0  # unavailability of this length is reported on the run's page


class DbSink:
    """Writes every event of one attempt in order, in its own thread, so a slow or unavailable
    database does not delay training.

    `Phase("saving")` is the barrier that `gan.training.loop` gives before every checkpoint: it
    returns when all before it is committed, so no checkpoint is ever newer than the rows. While the
    database is away training goes on up to there, waits, and goes on by itself; when `leave()` says
    that this process has to end meanwhile, DatabaseUnavailable is raised. What the database refuses
    for good (LeaseLost) is raised by the event after. Use it as a context: leaving it waits for the
    rest to be written.
    """

    def __init__(
        self,
        engine: Engine,
        run_id: str,
        attempt: int,
        config: RunConfig,
        leave: Callable[[], bool] = lambda: False,
        *,
        machine: str | None = None,
    ) -> None:
        self._engine, self._config, self._leave = engine, config, leave
        self._machine = machine  # on whose disk the checkpoints are
        self._owner: dict[str, Any] = {"run_id": run_id, "attempt": attempt}
        self._last_steps: float | None = None
        self._waiting: Queue[Callable[[], None] | None] = Queue()
        self._failure: BaseException | None = None
        self._away = False
        self._thread = threading.Thread(target=self._write_all, name="sink", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.flush()
        finally:
            self._waiting.put(None)

    def __call__(self, event: Event) -> None:
        self._raise()
        write = self._write(event)
        self._waiting.put(partial(write, self._engine, **self._owner))
        if event == Phase("saving"):
            self.flush()

    def flush(self) -> None:
        """Return when everything is committed. Raises DatabaseUnavailable, and what the database
        refused."""
        with self._waiting.all_tasks_done:
            while self._waiting.unfinished_tasks and self._failure is None:
                self._waiting.all_tasks_done.wait(POLL_SECONDS)
                if self._away and self._leave():
                    raise DatabaseUnavailable(
                        "The last metrics could not be stored before the process had to end."
                    )
        self._raise()

    def _write(self, event: Event) -> Callable[..., None]:
        match event:
            case Phase():
                return partial(reports.set_phase, phase=event.name)
            case PhaseProgress():
                return partial(
                    reports.set_phase_progress,
                    text=phase_progress(event.doing, event.share, event.seconds_left),
                )
            case Started():
                return partial(reports.set_started, **vars(event))
            case Steps():
                return partial(
                    reports.append_steps, **vars(event), images_per_second=self._rate(event)
                )
            case EpochDone():
                return partial(
                    reports.finish_epoch,
                    **vars(event),
                    steps=event.images // self._config.batch_size,
                )
            case Quality():
                return partial(reports.add_quality, **vars(event))
            case Facts():
                return partial(reports.add_facts, values=dict(event.values))
            case Grid():
                return partial(reports.add_grid, **vars(event))
            case Saved():
                return partial(
                    checkpoint_reports.add_checkpoint,
                    **vars(event),
                    keep=self._config.keep_checkpoints,
                    machine=self._machine,
                )
            case OnDisk():
                return partial(
                    checkpoint_reports.list_checkpoints,
                    found=[vars(one) for one in event.checkpoints],
                    machine=self._machine,
                )
            case Note():
                return partial(reports.add_event, **vars(event))

    def _write_all(self) -> None:
        while (write := self._waiting.get()) is not None:
            try:
                if self._failure is None:
                    self._until_written(write)
            except BaseException as error:  # raised again in the training thread
                self._failure = error
            finally:
                self._waiting.task_done()

    def _until_written(self, write: Callable[[], None]) -> None:
        began = time.monotonic()
        retry_while_unavailable(write, self._found_away)
        self._away = False
        if (seconds := time.monotonic() - began) >= REPORT_SECONDS:
            text = (
                f"The database was unavailable for {seconds:.0f} s. Training continued and no data"
                " is lost."
            )
            retry_while_unavailable(
                partial(reports.add_event, self._engine, **self._owner, level="warning", text=text)
            )

    def _found_away(self) -> None:
        self._away = True

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _rate(self, event: Steps) -> float | None:
        """Images per second since the previous report, until the first epoch has its own value."""
        now, before = time.monotonic(), self._last_steps
        self._last_steps = now
        return len(event.g_losses) * self._config.batch_size / (now - before) if before else None


class Sinks:
    """Passes events to several sinks in turn."""

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks

    def __call__(self, event: Event) -> None:
        for sink in self._sinks:
            sink(event)
