"""One RQ worker: accepts our one job only, outlives Redis, tells the database that it lives, and keeps queue and database in step."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import IO, Any

import psutil
from redis.exceptions import RedisError
from rq import Queue, Worker
from rq.exceptions import StopRequested
from rq.job import Job
from rq.serializers import JSONSerializer
from sqlalchemy.exc import SQLAlchemyError

from db import commands, queries
from db.errors import DbError, LeaseLost
from db.settings import Settings
from worker.context import Context, open_context
from worker.errors import CLEAR_ERRORS, QueueUnreachable
from worker.job import WORKER
from worker.lifeline import PARENT, die_with_named_parent
from worker.queue import JOB, QUEUE
from worker.reconcile import reconcile

log = logging.getLogger("ganboard.worker")

BEAT_SECONDS = 3.0
RECONCILE_SECONDS = 3.0
WORKER_TTL_SECONDS = 17  # RQ waits for a job this long minus 15 s: so an idle worker tends to its duties every 2 s


class TrainWorker(Worker):
    """RQ's forking worker with our duties hung on its heartbeat, which it gives both when idle and when busy.

    No thread runs beside it (not even RQ's command listener), so that forking stays safe.
    """

    max_connection_wait_time = 4.0  # RQ's pause between tries grows to this while Redis is away; the beats must not get old

    def __init__(self, context: Context, name: str) -> None:
        redis = context.redis()
        super().__init__(
            [Queue(QUEUE, connection=redis, serializer=JSONSerializer)],
            name=f"{name.replace(':', '-')}-{os.getpid()}-{int(time.time())}",
            connection=redis,
            serializer=JSONSerializer,
            worker_ttl=WORKER_TTL_SECONDS,
            job_monitoring_interval=2,
            maintenance_interval=30,
            log_job_description=False,
        )
        self._context, self._own_name = context, name
        self._run_id: str | None = None
        self._next_beat = self._next_reconcile = 0.0
        self._probe = DeviceProbe()

    # --- duties ---

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        self.tend()
        super().heartbeat(timeout, pipeline)

    def tend(self) -> None:
        """Beat and reconcile when due; an outage of either service is logged and outlived."""
        if self.is_horse:
            return
        try:
            if time.monotonic() >= self._next_beat:
                self._next_beat = time.monotonic() + BEAT_SECONDS
                commands.beat(
                    self._context.engine,
                    name=self._own_name,
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    run_id=self._run_id,
                    devices=self._probe.result(),
                )
            if time.monotonic() >= self._next_reconcile:
                self._next_reconcile = time.monotonic() + RECONCILE_SECONDS
                reconcile(self._context, self.connection)
        except (SQLAlchemyError, DbError, QueueUnreachable) as error:
            log.warning("%s", str(error).splitlines()[0])

    # --- jobs ---

    def execute_job(self, job: Job, queue: Queue) -> None:
        if not is_ours(job):
            log.error("Refused job %s: this worker runs %s(run id) and nothing else.", job.id, JOB)
            job.delete()
            return
        self._run_id = job.args[0]
        self._next_beat = 0.0  # say at once what we work on
        try:
            super().execute_job(job, queue)
        finally:
            self._run_id = None
            self._next_beat = 0.0

    def monitor_work_horse(self, job: Job, queue: Queue) -> None:
        """RQ's own, but a Redis that is away does not end the worker, which would end the training."""
        while True:
            try:
                super().monitor_work_horse(job, queue)
                return
            except RedisError as error:
                if self._stop_requested and not psutil.pid_exists(self.horse_pid):
                    raise StopRequested from None  # nothing is left to wait for, and Redis may never come back
                log.warning("Redis is away (%s).", type(error).__name__)
                self.tend()
                time.sleep(1)

    def handle_work_horse_killed(self, job: Job, retpid: int, ret_val: int, rusage: Any) -> None:
        cause = (
            f"The work-horse was killed by signal {os.WTERMSIG(ret_val)}" if ret_val and os.WIFSIGNALED(ret_val) else "The work-horse died"
        )
        bury_own_runs(self._context, self._own_name, cause)
        self._next_reconcile = 0.0

    # --- ending ---

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """SIGTERM or Ctrl-C: the trainer saves a checkpoint, its run is suspended, then the worker ends."""
        if self.horse_pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.horse_pid, signal.SIGTERM)
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]

    def teardown(self) -> None:
        with contextlib.suppress(RedisError):  # RQ says farewell to Redis, which may have gone before us
            super().teardown()  # type: ignore[no-untyped-call]

    def subscribe(self) -> None:
        """No remote commands: whoever can write to Redis must not be able to stop workers, and no thread must exist when we fork."""

    def unsubscribe(self) -> None:
        pass


class DeviceProbe:
    """What this machine can train on, found out once by a process of its own, since asking loads TensorFlow."""

    def __init__(self) -> None:
        # a low priority, so that a first run does not start later for it
        self._process: subprocess.Popen[str] | None = subprocess.Popen(
            ["nice", "-n", "19", sys.executable, "-m", "gan.hardware"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def result(self) -> dict[str, Any] | None:
        """The devices, once; None before the probe has ended and afterwards."""
        if self._process is None or self._process.poll() is None:
            return None
        process, self._process = self._process, None
        answer, _ = process.communicate()
        lines = answer.strip().splitlines()
        if process.returncode or not lines:
            log.warning("The device probe ended with exit code %d.", process.returncode)
            return None
        devices: dict[str, Any] = json.loads(lines[-1])
        return devices


def is_ours(job: Job) -> bool:
    """Whether a message is exactly what `worker.queue.ring` sends: RQ itself would import and call anything."""
    try:
        plain = job.func_name == JOB and job.instance is None and not job.kwargs
        one_id = len(job.args) == 1 and isinstance(job.args[0], str)
    except Exception:  # data that cannot be decoded can raise anything
        return False
    extras = (job._success_callback_name, job._failure_callback_name, job._stopped_callback_name, job.webhooks, job._dependency_ids)
    return plain and one_id and not any(extras) and not job.repeats_left and not job.retries_left


def bury_own_runs(context: Context, name: str, cause: str) -> None:
    """Queue again what this worker had claimed and did not end."""
    for run in queries.active_runs_of(context.engine, name):
        with contextlib.suppress(LeaseLost):
            commands.died(context.engine, run_id=run.id, attempt=run.attempt, cause=cause)


def take_slot(settings: Settings) -> tuple[str, IO[str]]:
    """A name that is ours as long as the returned file stays open: host:1, host:2, ...

    The name returns when a worker dies, so its successor knows at once that the runs under that name have no worker.
    """
    directory = settings.state / "workers"
    directory.mkdir(exist_ok=True)
    slot = 0
    while True:
        slot += 1
        name = f"{socket.gethostname()}:{slot}"
        file = Path(directory / f"{name}.lock").open("w")  # noqa: SIM115  # held open for life
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        return name, file


def _wait_for_queue(context: Context) -> None:
    """Redis may start after us, or be restarting: wait for it, saying so once."""
    told = False
    while True:
        try:
            context.redis()
            return
        except QueueUnreachable as error:
            if not told:
                log.warning("%s Waiting for it.", error)
                told = True
            time.sleep(0.5)


def main() -> int:
    """`ganboard worker`: work until SIGTERM or Ctrl-C."""
    die_with_named_parent(signal.SIGTERM)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        context = open_context(pooled=False)  # no connection may be open when RQ forks
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        return 1
    name, _slot = take_slot(context.settings)
    os.environ[WORKER] = name
    os.environ[PARENT] = str(os.getpid())  # the work-horse ties its life to ours
    _wait_for_queue(context)
    bury_own_runs(context, name, "The worker was killed")
    worker = TrainWorker(context, name)
    with contextlib.suppress(SQLAlchemyError, QueueUnreachable):
        reconcile(context, worker.connection, ripe_seconds=0)  # what waited for a worker need not wait longer
    worker.work(logging_level="WARNING")
    with contextlib.suppress(SQLAlchemyError):
        commands.forget_worker(context.engine, name=name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
