"""The trainer's hold on its run: renewed every second, it returns requests to stop and samples
what its processes and its machine use.

Until training begins, the main thread keeps the interpreter's lock for long, and a renewal on a
busy machine takes seconds, in which no other process can write to SQLite. So the start has a longer
lease, which is renewed less often.
"""

from __future__ import annotations

import logging
import os
import threading
import time

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from ganboard.db.curves import usage
from ganboard.db.errors import LeaseLost
from ganboard.db.models import utc_now
from ganboard.db.runs import commands, reports
from ganboard.gan.events import Event, Phase
from ganboard.worker.training.start import STARTING, Renewal
from ganboard.worker.training.system_metrics import Sampler
from ganboard.worker.training.usage import Usage

SAMPLE_SECONDS = 5.0
USAGE_SECONDS = 15.0  # looking for the processes of a run takes some milliseconds
EXIT_LEASE_LOST = 75  # EX_TEMPFAIL: someone else trains this run
TRAINING = Renewal(every=1, lease=commands.LEASE_SECONDS)


class Lease(threading.Thread):
    """Renews in the background; ends the whole process the moment another attempt owns the run."""

    def __init__(self, engine: Engine, run_id: str, attempt: int) -> None:
        super().__init__(name="lease", daemon=True)
        self._engine, self._run_id, self._attempt = engine, run_id, attempt
        self._released = threading.Event()
        self._wake = threading.Event()
        self._sampler = Sampler(run_id, attempt)
        self._usage = Usage(run_id, attempt)
        self._renewal = STARTING
        self.stop_requested = False

    def run(self) -> None:
        next_sample = time.monotonic()
        next_usage = time.monotonic() + SAMPLE_SECONDS
        away = False
        while not self._released.is_set():
            try:
                self.stop_requested = commands.renew(
                    self._engine,
                    run_id=self._run_id,
                    attempt=self._attempt,
                    lease_seconds=self._renewal.lease,
                )
                away = False
                if time.monotonic() >= next_sample:
                    next_sample = time.monotonic() + SAMPLE_SECONDS
                    reports.add_sample(self._engine, self._sampler.sample())
                if time.monotonic() >= next_usage:
                    next_usage = time.monotonic() + USAGE_SECONDS
                    usage.add(self._engine, self._usage.sample(utc_now()))
            except LeaseLost as error:
                if not self._released.is_set():
                    logging.warning("%s Ending.", error)  # into the run's log
                    os._exit(EXIT_LEASE_LOST)
            # database unavailable: the row stays ours until another attempt takes it
            except SQLAlchemyError as error:
                if not away:
                    logging.warning("Lease not renewed: %s", error)
                away = True
            self._wake.wait(self._renewal.every)
            self._wake.clear()

    def take_over(self, event: Event) -> None:
        """A sink that starts renewing with the first event after TensorFlow is loaded; see
        worker/training/start.py."""
        if event == Phase("training"):
            self._renewal = TRAINING
            self._wake.set()  # the long lease of the start would hide a death for a minute
        if self.ident is None and event != Phase("importing"):
            self.start()

    def release(self) -> None:
        """Stop renewing; the caller ends the attempt in the database."""
        self._released.set()
        self._wake.set()
        if self.ident is not None:
            self.join()
