"""`ganboard up`: Redis, dashboard, workers, an inference worker, a sync with MLflow, a sender of
alerts, drivers of searches, claims and
schedulers once there are any: children of one process that
restarts what dies and ends all."""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from filelock import FileLock, Timeout
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from ganboard.db import heartbeats
from ganboard.db.alerts import channels
from ganboard.db.claims import records
from ganboard.db.errors import DbError
from ganboard.db.placement import jobs
from ganboard.db.runs import queries
from ganboard.db.searches import searches
from ganboard.db.settings import Settings
from ganboard.gan.config import parse
from ganboard.gan.devices import capabilities
from ganboard.gan.devices.hardware import cpu_flags
from ganboard.gan.presets import values
from ganboard.worker.access import check_address
from ganboard.worker.context import Context, open_context
from ganboard.worker.errors import AlreadyRunning, ServiceFailed
from ganboard.worker.process import redis_server
from ganboard.worker.process.machine import up_lock
from ganboard.worker.process.service import Service, end_on_signal, say
from ganboard.worker.registry.mlflow_sync import require
from ganboard.worker.schedulers import known
from ganboard.worker.submission.submit import submit
from ganboard.worker.supervisor import web

READY_SECONDS = 60.0
GRACE_SECONDS = 60.0  # for a trainer to save its checkpoint
LOOK_SECONDS = 2.0  # between looks for a first channel of alerts, search or open claim


def up(
    settings: Settings, *, port: int, workers: int, starter: bool, address: str = "127.0.0.1"
) -> int:
    """Serve until SIGINT or SIGTERM. Raises AlreadyRunning, ServiceFailed, SettingsError and
    DbError before anything is started."""
    check_address(settings, address)
    if settings.mlflow_uri:
        require()
    settings.prepare_home()
    with _only_one(settings, port):
        _check_port(address, port)
        context = open_context(settings)
        services = _services(settings, context, port, workers, address)
        say(f"ganboard on {settings.state}")
        ending = end_on_signal()
        for service in services:
            service.start()
        try:
            if starter:
                _submit_starter(context)
            greeted = False
            occasional = [
                _Occasional(
                    context, "alerts", "alerts.sender", "sends alerts", channels.any_listed
                ),
                _Occasional(
                    context, "searches", "searches.driver", "drives searches", searches.any_running
                ),
                _Occasional(
                    context, "claims", "claims.runner", "runs the pairs of claims", records.any_open
                ),
                *(
                    _Occasional(
                        context,
                        name,
                        f"schedulers.driver {name}",
                        "submits jobs",
                        partial(jobs.any_wanted, scheduler=name),
                    )
                    for name in known.available(settings)
                ),
            ]
            while not ending():
                services += [new for one in occasional for new in one.when_needed()]
                for service in services:
                    service.tend(say)
                if not greeted and all(service.announced for service in services):
                    greeted = True
                    say(
                        f"Open http://{address}:{port}   Ctrl-C stops everything; runs resume at"
                        " the next start."
                    )
                if not greeted and time.monotonic() - services[0].started > READY_SECONDS:
                    late = ", ".join(service.name for service in services if not service.announced)
                    raise ServiceFailed(
                        f"Not ready after {READY_SECONDS:.0f} s: {late}. See the logs in"
                        f" {settings.state / 'logs'}."
                    )
                time.sleep(0.1)
        finally:
            say("Stopping: running trainers save a checkpoint ...")
            _end_all(services)
            context.engine.dispose()
        say("Ended.")
    return 0


def _services(
    settings: Settings, context: Context, port: int, workers: int, address: str
) -> list[Service]:
    logs = settings.state / "logs"
    logs.mkdir(exist_ok=True)
    python = [sys.executable, "-m"]

    def worker_ready() -> str | None:
        alive = [state.worker.name for state in heartbeats.workers(context.engine) if state.alive]
        return f"{len(alive)} alive" if len(alive) >= workers else None

    def inference_ready() -> str | None:
        return (
            "for the playground"
            if any(state.alive for state in heartbeats.inference_workers(context.engine))
            else None
        )

    found = []
    if not settings.redis_url:
        command, mend = redis_server.command(settings), partial(redis_server.set_aside, settings)
        found.append(
            Service("redis", command, logs / "redis.log", lambda: _redis_ready(settings), mend=mend)
        )
    found.append(web.service(address, port, logs / "web.log"))
    found += [
        Service(
            f"worker {n}",
            [*python, "ganboard.worker.queue.rq_worker"],
            logs / f"worker-{n}.log",
            worker_ready,
        )
        for n in range(1, workers + 1)
    ]
    found.append(
        Service(
            "inference",
            [*python, "ganboard.worker.requests.inference_worker"],
            logs / "inference-worker.log",
            inference_ready,
        )
    )
    if settings.mlflow_uri:
        found.append(
            Service(
                "mlflow-sync",
                [*python, "ganboard.worker.registry.mlflow_sync"],
                logs / "mlflow-sync.log",
                lambda: "logs runs to MLflow",
            )
        )
    return found


class _Occasional:
    """A process that most installations do not need: it starts once the database has work for
    it."""

    def __init__(
        self, context: Context, name: str, module: str, does: str, needed: Callable[[Engine], bool]
    ) -> None:
        self._context = context
        self._name = name
        self._module = module  # below `ganboard.worker`
        self._does = does
        self._needed = needed
        self._look_at = 0.0
        self._started = False

    def when_needed(self) -> list[Service]:
        """The service, started, once it is needed; nothing before and after."""
        if self._started or time.monotonic() < self._look_at:
            return []
        self._look_at = time.monotonic() + LOOK_SECONDS
        with contextlib.suppress(SQLAlchemyError, DbError):  # away: the pages say so
            self._started = self._needed(self._context.engine)
        if not self._started:
            return []
        command = [sys.executable, "-m", *f"ganboard.worker.{self._module}".split()]
        log = self._context.settings.state / "logs" / f"{self._name}.log"
        service = Service(self._name, command, log, lambda: self._does)
        service.start()
        return [service]


def _redis_ready(settings: Settings) -> str | None:
    try:
        with Redis(unix_socket_path=str(redis_server.socket_path(settings))) as redis:
            info = redis.info("server")
    except RedisError:
        return None
    return f"embedded, version {info['redis_version']}"


def _submit_starter(context: Context) -> None:
    """A first run for an empty database, so that a newcomer sees digits emerge without a click."""
    if queries.count_runs(context.engine, archived=True):
        return
    starter = values("starter")
    faster = capabilities.faster(parse(starter), {"cpu_flags": cpu_flags()})
    submit(context, parse(starter | faster), name="starter", preset="starter")


def _end_all(services: list[Service]) -> None:
    """Workers first and all at once, since they save; then inference worker and page; Redis last,
    since workers still use it."""
    workers = [service for service in services if service.name.startswith("worker")]
    for service in workers:
        if service.process and service.process.poll() is None:
            service.process.terminate()
    for service in [*workers, *reversed([s for s in services if s not in workers])]:
        service.end(GRACE_SECONDS)


@contextlib.contextmanager
def _only_one(settings: Settings, port: int) -> Iterator[None]:
    path = up_lock(settings)
    try:
        lock = FileLock(path).acquire(blocking=False)
    except Timeout:
        raise AlreadyRunning(
            f"ganboard is already running on {settings.state} ({path.read_text().strip()}). Use"
            " that one, or set another GANBOARD_HOME."
        ) from None
    with lock:
        path.write_text(f"http://127.0.0.1:{port}")
        yield


def _check_port(address: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise AlreadyRunning(
                f"Port {port} on {address} cannot be used ({error.strerror}). Choose another one"
                " with --port."
            ) from None
