"""The start of a trainer, seen from its work-horse: a slow start must not look like a death.

While a process imports TensorFlow, its threads wait for the interpreter's lock, for many seconds on
a busy machine. It could neither renew its lease in time nor give back SQLite's write lock. So the
work-horse renews until the run's phase shows that TensorFlow is loaded, and the trainer writes
nothing meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Literal, NamedTuple, Self

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from ganboard.db.errors import LeaseLost
from ganboard.db.models import ACTIVE, Run
from ganboard.db.runs import commands, queries
from ganboard.db.runs.commands import Claim

log = logging.getLogger("ganboard.worker")


class Renewal(NamedTuple):
    """Seconds from one renewal to the next, and seconds that a lease lasts."""

    every: float
    lease: float


STARTING = Renewal(every=3, lease=commands.START_LEASE_SECONDS)

# before TensorFlow is loaded
PHASES = {"starting": "starting the trainer", "importing": "loading TensorFlow"}
POLL_SECONDS = 1.0
START_SECONDS = 600.0  # a trainer that has not loaded TensorFlow by then is ended
MAX_LATE = 3  # late starts in a row; a person has to make room on the machine
SLOW_SECONDS = commands.LEASE_SECONDS
TOO_LATE = (
    f"The trainer did not load TensorFlow within {START_SECONDS / 60:.0f} min. The machine may be"
    " overloaded"
)
SLOW = f"slow start; the limit is {START_SECONDS / 60:.0f} min"


class Start(threading.Thread):
    """Renews the lease of an attempt until its trainer has loaded TensorFlow; from then on the
    trainer alone holds it.

    Calls `end` if the trainer must not go on: a stop was requested ("stop"), START_SECONDS have
    passed ("late"; time without a database does not count), or another attempt has the run. Use it
    as a context while the trainer runs.
    """

    def __init__(self, engine: Engine, claim: Claim, end: Callable[[], None]) -> None:
        super().__init__(name="start", daemon=True)
        self._engine = engine
        self._claim = claim
        self._end = end
        self._over = threading.Event()
        self.outcome: Literal["", "stop", "late"] = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        claim = self._claim
        began = renewed = time.monotonic()
        while not self._over.is_set():
            try:
                run = queries.get_run(self._engine, claim.run_id)
                if run is not None and run.attempt == claim.attempt and run.phase not in PHASES:
                    return
                if time.monotonic() - renewed >= STARTING.every:
                    commands.renew(
                        self._engine,
                        run_id=claim.run_id,
                        attempt=claim.attempt,
                        lease_seconds=STARTING.lease,
                    )
                    renewed = time.monotonic()
            except LeaseLost:
                self._end()
                return
            except SQLAlchemyError as error:
                log.warning("Lease not renewed: %s", str(error).splitlines()[0])
                began = time.monotonic()
            else:
                if run is not None and run.stop_requested_at is not None:
                    self.outcome = "stop"
                elif time.monotonic() - began >= START_SECONDS:
                    self.outcome = "late"
                if self.outcome:
                    self._end()
                    return
            self._over.wait(POLL_SECONDS)


def seconds_of_start(run: Run, now: datetime) -> float | None:
    """How long a starting run has been in its present phase; None for any other run. `now` is the
    database's time."""
    if run.status not in ACTIVE or run.phase not in PHASES or run.phase_since is None:
        return None
    return max(0.0, (now - run.phase_since).total_seconds())
