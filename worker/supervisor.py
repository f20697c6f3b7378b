"""`ganboard up`: Redis, dashboard, workers, a painter, a mirror in MLflow: children of one process that restarts what dies and ends all."""

from __future__ import annotations

import contextlib
import fcntl
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO

from redis import Redis
from redis.exceptions import RedisError

from db import queries
from db.settings import Settings
from gan.config import parse
from gan.hardware import cpu_flags
from gan.presets import values
from worker import logs, redis_server
from worker.access import check_address
from worker.context import Context, open_context
from worker.errors import AlreadyRunning, ServiceFailed
from worker.lifeline import environment_for_child
from worker.mirror import require
from worker.submit import submit

READY_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 10.0
HEALTHY_SECONDS = 30.0  # a child that lived this long restarts without a pause
GRACE_SECONDS = 60.0  # for a trainer to save its checkpoint


@dataclass
class Service:
    """A child process that is meant to run for ever."""

    name: str
    command: list[str]
    log: Path
    ready: Callable[[], str | None]  # what to print once it answers, None before
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    restarts: int = 0
    retry_at: float = 0.0
    announced: bool = field(default=False)
    mend: Callable[[], str] | None = None  # what to do when it died before it answered, and what to say of that

    def start(self) -> None:
        if self.log.exists() and self.log.stat().st_size >= logs.MAX_BYTES:  # for programs that do not see to it themselves
            logs.rotate(self.log)
        with self.log.open("ab") as log:
            # a session of its own: Ctrl-C in the terminal must reach the supervisor alone
            self.process = subprocess.Popen(
                self.command,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment_for_child(**{logs.FILE: str(self.log)}),
                start_new_session=True,
            )
        self.started = time.monotonic()
        self.announced = False

    def tend(self, say: Callable[[str], None]) -> None:
        """Announce readiness once; restart after a death, more slowly each time it dies young."""
        assert self.process is not None
        if self.process.poll() is None:
            if not self.announced and (words := self.ready()):
                self.announced = True
                say(f"  {self.name:<9} ready    {words}")
            return
        if not self.retry_at:
            young = time.monotonic() - self.started < HEALTHY_SECONDS
            self.restarts = self.restarts + 1 if young else 1
            pause = min(LONGEST_PAUSE_SECONDS, 0.5 * 2 ** (self.restarts - 1))
            self.retry_at = time.monotonic() + pause
            say(f"  {self.name:<9} ended with code {self.process.returncode}; restarting in {pause:.1f} s (log: {self.log})")
            if self.mend and not self.announced:
                say(f"  {self.name:<9} {self.mend()}")
        elif time.monotonic() >= self.retry_at:
            self.retry_at = 0.0
            self.start()

    def end(self, seconds: float) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def up(settings: Settings, *, port: int, workers: int, starter: bool, address: str = "127.0.0.1") -> int:
    """Serve until SIGINT or SIGTERM. Raises AlreadyRunning, ServiceFailed, SettingsError and DbError before anything is started."""
    check_address(settings, address)
    if settings.mlflow_uri:
        require()
    settings.prepare_home()
    with _only_one(settings, port):
        _check_port(address, port)
        context = open_context(settings)
        services = _services(settings, context, port, workers, address)
        _say(f"ganboard on {settings.state}")
        ending = _end_on_signal()
        for service in services:
            service.start()
        try:
            if starter:
                _submit_starter(context)
            greeted = False
            while not ending():
                for service in services:
                    service.tend(_say)
                if not greeted and all(service.announced for service in services):
                    greeted = True
                    _say(f"Open http://{address}:{port}   Ctrl-C ends everything; runs go on at the next start.")
                if not greeted and time.monotonic() - services[0].started > READY_SECONDS:
                    late = ", ".join(service.name for service in services if not service.announced)
                    raise ServiceFailed(f"Not ready after {READY_SECONDS:.0f} s: {late}. The logs are in {settings.state / 'logs'}.")
                time.sleep(0.1)
        finally:
            _say("Ending: running trainings save a checkpoint ...")
            _end_all(services)
            context.engine.dispose()
        _say("Ended.")
    return 0


def _services(settings: Settings, context: Context, port: int, workers: int, address: str) -> list[Service]:
    logs = settings.state / "logs"
    logs.mkdir(exist_ok=True)
    python = [sys.executable, "-m"]

    def worker_ready() -> str | None:
        alive = [state.worker.name for state in queries.workers(context.engine) if state.alive]
        return f"{len(alive)} alive" if len(alive) >= workers else None

    host = "127.0.0.1" if address == "0.0.0.0" else address  # noqa: S104  # the one means them all

    def web_ready() -> str | None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{host}:{port}/_stcore/health", timeout=1) as answer:
            return f"http://{address}:{port}" if answer.status == 200 else None
        return None

    def painter_ready() -> str | None:
        return "for the playground" if any(state.alive for state in queries.painters(context.engine)) else None

    found = []
    if not settings.redis_url:
        command, mend = redis_server.command(settings), partial(redis_server.set_aside, settings)
        found.append(Service("redis", command, logs / "redis.log", lambda: _redis_ready(settings), mend=mend))
    serve = ["worker.guard", sys.executable, "-m", "app.serve", "--port", str(port), "--address", address]
    found.append(Service("web", python + serve, logs / "web.log", web_ready))
    found += [Service(f"worker {n}", [*python, "worker.rq_worker"], logs / f"worker-{n}.log", worker_ready) for n in range(1, workers + 1)]
    found.append(Service("painter", [*python, "worker.painter"], logs / "painter.log", painter_ready))
    if settings.mlflow_uri:
        found.append(Service("mirror", [*python, "worker.mirror"], logs / "mirror.log", lambda: "shows runs in MLflow"))
    return found


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
    if not {"avx512_bf16", "amx_bf16"} & set(cpu_flags()):
        starter["precision"] = "float32"  # without the instructions bfloat16 is emulated, and slow
    submit(context, parse(starter), name="starter", preset="starter")


def _end_all(services: list[Service]) -> None:
    """Workers first and all at once, since they save; then painter and page; Redis last, since workers still speak to it."""
    workers = [service for service in services if service.name.startswith("worker")]
    for service in workers:
        if service.process and service.process.poll() is None:
            service.process.terminate()
    for service in [*workers, *reversed([s for s in services if s not in workers])]:
        service.end(GRACE_SECONDS)


@contextlib.contextmanager
def _only_one(settings: Settings, port: int) -> Iterator[None]:
    path = settings.state / "up.lock"
    with path.open("a+") as file:
        if not _locked(file):
            file.seek(0)
            raise AlreadyRunning(
                f"ganboard is already up on {settings.state} ({file.read().strip()}): use that, or set another GANBOARD_HOME."
            )
        file.truncate(0)
        file.write(f"http://127.0.0.1:{port}")
        file.flush()
        yield


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _check_port(address: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise AlreadyRunning(f"Port {port} on {address} cannot be used ({error.strerror}): choose another with --port.") from None


def _end_on_signal() -> Callable[[], bool]:
    ending = False

    def on_signal(signum: int, frame: FrameType | None) -> None:
        nonlocal ending
        ending = True

    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, on_signal)
    return lambda: ending


def _say(words: str) -> None:
    print(logs.line(words.strip()) if logs.as_json() else words, flush=True)  # noqa: T201  # the supervisor speaks to its terminal
