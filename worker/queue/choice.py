"""What a worker can offer, and which run it trains next."""

from __future__ import annotations

import logging
import socket
from importlib.metadata import version
from typing import Any

from redis.exceptions import RedisError
from rq import Queue
from rq.job import Job
from sqlalchemy.exc import SQLAlchemyError

from ganboard.db.errors import DbError
from ganboard.db.models import Run
from ganboard.db.placement import groups
from ganboard.db.runs import queries
from ganboard.gan.needs import Offer
from ganboard.worker import placement
from ganboard.worker.context import Context
from ganboard.worker.process.ports import own_address
from ganboard.worker.queue.device_probe import DeviceProbe
from ganboard.worker.queue.enqueue import message

log = logging.getLogger("ganboard.worker")


class Choice:
    """Looks into the database, which is the truth: a message only says that it is time to."""

    def __init__(self, context: Context, worker: str, probe: DeviceProbe | None) -> None:
        """`probe` may be None where the hardware plays no part. Raises SettingsError."""
        self.labels = placement.labels(context.settings)
        self.address = own_address(context.settings)
        self._worker = worker
        self._context, self._probe = context, probe
        self._devices: dict[str, Any] | None = None

    def devices(self) -> dict[str, Any] | None:
        """What this machine has; None until the probe has ended."""
        found = self._probe.result() if self._probe and self._devices is None else None
        if found is not None:
            # machines train together only if they have the same
            known = {**found.get("versions", {}), "ganboard": version("ganboard")}
            self._devices = {**found, "versions": known}
        return self._devices

    def run(self, **which: Any) -> Run | None:
        """The run of the group that this worker is a member of, else as `placement.next_run`; also
        None while the database is away."""
        engine = self._context.engine
        here = Offer(self.labels, socket.gethostname(), self.devices())
        try:
            if (member := groups.of_worker(engine, self._worker)) is not None:
                return queries.get_run(engine, member.run_id)
            return placement.next_run(self._context, here, worker=self._worker, **which)
        except (SQLAlchemyError, DbError, OSError) as error:
            log.warning("%s", str(error).splitlines()[0])
            return None

    def sent(self, queue: Queue, run: Run | None) -> tuple[Job, Queue] | None:
        """The message of a run that was chosen without one. Other workers may take the run as
        well: the claim decides."""
        try:
            return None if run is None else (message(queue, run), queue)
        except RedisError as error:
            log.warning("Redis is away (%s).", type(error).__name__)
            return None
