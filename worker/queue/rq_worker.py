"""One RQ worker: accepts only our job, survives restarts of Redis, sends heartbeats to the
database, and keeps queue and database consistent."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import psutil
from redis.exceptions import RedisError, ResponseError
from rq import Queue, Worker
from rq.exceptions import InvalidJobOperation, StopRequested
from rq.job import Job
from rq.registry import StartedJobRegistry
from rq.serializers import JSONSerializer
from rq.utils import now
from sqlalchemy.exc import SQLAlchemyError

from ganboard.db import heartbeats
from ganboard.db.errors import DbError
from ganboard.db.placement import groups
from ganboard.worker import logs
from ganboard.worker.artifacts import uploader
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.errors import QueueUnreachable
from ganboard.worker.process import clock, health, machine
from ganboard.worker.process.frozen import Frozen
from ganboard.worker.process.parent_death import PARENT, die_with_named_parent
from ganboard.worker.queue.choice import Choice
from ganboard.worker.queue.device_probe import DeviceProbe
from ganboard.worker.queue.enqueue import JOB, clear, open_queue, sweep, wait_for_queue
from ganboard.worker.queue.gpus import restrict
from ganboard.worker.queue.job import WORKER
from ganboard.worker.queue.message import AWAY, Message, is_ours
from ganboard.worker.queue.reconcile import RIPE_SECONDS, bury_own_runs, reconcile
from ganboard.worker.queue.slots import join

log = logging.getLogger("ganboard.worker")

HEARTBEAT_SECONDS = 3.0
RECONCILE_SECONDS = 3.0
STRANGE_SECONDS = 15.0  # a work-horse needs less to claim its run, and to end after it
IDLE_SECONDS = 2  # after which a worker without a message looks into the database
WORKER_TTL_SECONDS = 17  # RQ waits for a job this long minus 15 s, and then sends a heartbeat


class TrainWorker(Worker):
    """RQ's forking worker with our duties hung on its heartbeat, given when idle and when busy. No
    thread runs beside it (not even RQ's command listener), so that forking stays safe."""

    # RQ's pause between tries grows to this while Redis is away; the heartbeats must not get old
    max_connection_wait_time = 4.0

    def __init__(self, context: Context, name: str) -> None:
        redis = context.redis()
        super().__init__(
            [open_queue(redis)],
            name=f"{name.replace(':', '-')}-{os.getpid()}-{int(time.time())}",
            connection=redis,
            serializer=JSONSerializer,
            job_class=Message,
            worker_ttl=WORKER_TTL_SECONDS,
            job_monitoring_interval=2,
            maintenance_interval=30,
            log_job_description=False,
        )
        self._context, self._own_name = context, name
        self._machine = machine.name(context.settings)
        self._run_id: str | None = None
        self._next_heartbeat = self._next_reconcile = 0.0
        # since when no run of ours is active though a work-horse lives
        self._strange_since: float | None = None
        self._frozen = Frozen()
        self._choice = Choice(context, name, DeviceProbe())
        self._uploader = uploader.Uploader(context)

    # --- duties ---

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        self.tend()
        with self._outliving():
            super().heartbeat(timeout, pipeline)

    def tend(self) -> None:
        """Send a heartbeat and reconcile when due, also after the database was away."""
        if self.is_horse:
            return
        # asks no database, whose lock such a process may hold
        if self.horse_pid and self._frozen.too_long(self.horse_pid):
            log.warning("A process of run %s was stopped and is ended.", self._run_id)
            self.kill_horse(signal.SIGKILL)
        try:
            if time.monotonic() >= self._next_heartbeat:
                self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS
                health.touch(self._context.settings)
                heartbeats.record(
                    self._context.engine,
                    name=self._own_name,
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    run_id=self._run_id,
                    devices=self._choice.devices(),
                    machine=self._machine,
                    boot=machine.boot(),
                    labels=self._choice.labels,
                    address=self._choice.address,
                )
            if time.monotonic() >= self._next_reconcile:
                self._next_reconcile = time.monotonic() + RECONCILE_SECONDS
                self._end_what_is_not_ours()
                self._uploader.ensure()
                reconcile(self._context, self.connection)
        except (SQLAlchemyError, DbError, QueueUnreachable, OSError) as error:
            log.warning("%s", str(error).splitlines()[0])

    def _end_what_is_not_ours(self) -> None:
        """A work-horse or trainer that is frozen loses its run to another attempt and would keep
        this worker busy for ever."""
        if not self.horse_pid or self._own_name in groups.engaged(self._context.engine):
            self._strange_since = None
            return
        self._strange_since = self._strange_since or time.monotonic()
        if time.monotonic() - self._strange_since > STRANGE_SECONDS:
            log.warning("Run %s is no longer ours: its process is ended.", self._run_id)
            self.kill_horse(signal.SIGKILL)

    # --- what others may have put into Redis ---

    @contextlib.contextmanager
    def _outliving(self) -> Iterator[None]:
        """Steps of RQ that would end a worker when they meet data that RQ did not write: it is
        deleted, and the worker continues."""
        try:
            yield
        except (ResponseError, ValueError, TypeError, KeyError) as error:
            if isinstance(error, ResponseError) and "WRONGTYPE" not in str(error):
                raise
            log.error(
                "The queue held something that is not ours, and was cleared (%s).",
                str(error).splitlines()[0][:200],
            )
            clear(self.connection)
            self.connection.delete(self.key)
            self._next_reconcile = 0.0
            time.sleep(0.2)

    def register_birth(self) -> None:
        while True:
            with self._outliving():
                super().register_birth()  # type: ignore[no-untyped-call]
                return

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        while True:
            with self._outliving():
                found = super().dequeue_job_and_maintain_ttl(timeout, max_idle_time or IDLE_SECONDS)
                if found is not None and not is_ours(found[0]):
                    return found
                if found is None:
                    # what is for this machine alone, or what others were notified of in vain
                    run = self._choice.run(for_seconds=RIPE_SECONDS)
                else:
                    run = self._choice.run(notified=found[0].args[0])
                    if run is not None and run.id == found[0].args[0]:
                        return found
                    self.connection.delete(found[0].key)
                if instead := self._choice.sent(self.queues[0], run):
                    return instead
                if found is None and (max_idle_time is not None or timeout is None):
                    return None

    def run_maintenance_tasks(self) -> None:
        """Not RQ's own: it calls, in this process, whatever function a lost job names for its
        failure."""
        sweep(self.connection)
        self.last_cleaned_at = now()  # type: ignore[assignment]

    def check_for_suspension(self, burst: bool) -> None:
        """Never: whoever can write to Redis must not be able to stop workers."""

    # --- jobs ---

    def execute_job(self, job: Job, queue: Queue) -> None:
        if not is_ours(job):
            log.error("Refused job %s: this worker runs %s(run id) and nothing else.", job.id, JOB)
            self.connection.delete(job.key)
            return
        self._run_id = job.args[0]
        self._strange_since = None  # what the work-horse before left
        self._next_heartbeat = 0.0  # say at once what we work on
        try:
            with self._outliving():
                super().execute_job(job, queue)
        finally:
            self._run_id = None
            self._next_heartbeat = 0.0

    def monitor_work_horse(self, job: Job, queue: Queue) -> None:
        """RQ's own, but neither a Redis that is away nor what it holds ends the worker, which would
        end the training."""
        while True:
            try:
                super().monitor_work_horse(job, queue)
                return
            except (RedisError, ValueError) as error:  # ValueError: the job's state is no state
                away, gone = isinstance(error, AWAY), not psutil.pid_exists(self.horse_pid)
                if self._stop_requested and gone:
                    # nothing is left to wait for, and Redis may never come back
                    raise StopRequested from None
                what = "Redis is away" if away else "The queue holds something that is not ours"
                log.warning("%s (%s).", what, type(error).__name__)
                if gone and not away:
                    self.connection.delete(job.key, self.key)
                    bury_own_runs(self._context, self._own_name, "The work-horse died")
                    return
                self.tend()
                time.sleep(1)

    def handle_job_success(
        self, job: Job, queue: Queue, started_job_registry: StartedJobRegistry
    ) -> None:
        """RQ's own bookkeeping, which Redis cannot answer once the job is gone: after FLUSHALL, or
        when a repeated message of the same run was dealt with meanwhile."""
        try:
            super().handle_job_success(job, queue, started_job_registry)
        except InvalidJobOperation:
            log.warning(
                "Redis no longer has the message of run %s; the run is unaffected.", job.args[0]
            )
            self.connection.delete(job.key)  # RQ's last heartbeat has created it again

    def handle_work_horse_killed(self, job: Job, retpid: int, ret_val: int, rusage: Any) -> None:
        cause = (
            f"The work-horse was killed by signal {os.WTERMSIG(ret_val)}"
            if ret_val and os.WIFSIGNALED(ret_val)
            else "The work-horse died"
        )
        bury_own_runs(self._context, self._own_name, cause)
        self._next_reconcile = 0.0

    # --- ending ---

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """SIGTERM or Ctrl-C: the trainer saves a checkpoint, its run is suspended, then the worker
        ends."""
        if self.horse_pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.horse_pid, signal.SIGTERM)
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]

    def teardown(self) -> None:
        # RQ says farewell to Redis, which may have gone before us
        with contextlib.suppress(RedisError):
            super().teardown()  # type: ignore[no-untyped-call]

    def subscribe(self) -> None:
        """No remote commands (see above), and no thread when we fork."""


def main() -> int:
    """`ganboard worker`: work until SIGTERM or Ctrl-C."""
    die_with_named_parent(signal.SIGTERM)
    logs.configure()
    try:
        context = open_context(pooled=False)  # no connection may be open when RQ forks
        for said in filter(None, (uploader.check(context.settings), clock.warning(context.engine))):
            log.warning("%s", said)
        name, _slot = join(context.settings, context.engine)
        restrict(context.settings, name)
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        return 1
    os.environ[WORKER] = name
    os.environ[PARENT] = str(os.getpid())  # the work-horse ties its life to ours
    wait_for_queue(context)
    bury_own_runs(context, name, "The worker was killed")
    worker = TrainWorker(context, name)
    with contextlib.suppress(SQLAlchemyError, QueueUnreachable):
        # what waited for a worker need not wait longer
        reconcile(context, worker.connection, ripe_seconds=0)
    worker.work(logging_level="WARNING")
    with contextlib.suppress(SQLAlchemyError):
        heartbeats.forget(context.engine, name=name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
