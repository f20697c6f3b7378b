"""`ganboard up` keeps its services alive: one with a damaged memory, too, and one that hangs."""

from __future__ import annotations

import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import psutil
import pytest
from redis import Redis

from ganboard.worker.context import Context
from ganboard.worker.process import service
from ganboard.worker.process.service import Health, Probe, Service
from ganboard.worker.supervisor import web
from ganboard.worker.supervisor.supervisor import _services
from tests.polling import wait_until
from tests.up import free_port


@pytest.mark.thorough
def test_a_redis_that_cannot_read_its_log_is_started_empty(context: Context, redis: Redis) -> None:
    redis.set("a", 1)
    redis.shutdown(nosave=True)
    [log] = (context.settings.state / "redis").rglob("*.aof")
    log.write_bytes(log.read_bytes() + b"rubbish")
    server = _services(context.settings, context, port=0, workers=1, address="127.0.0.1")[0]
    said: list[str] = []
    server.start()
    try:

        def announced() -> bool:
            server.tend(said.append)
            return server.announced

        wait_until(announced, seconds=30, what="an empty server")
        assert redis.get("a") is None
    finally:
        server.end(10)
    assert "ended with code 1" in said[0]
    assert "redis-damaged-1" in said[1]
    assert "ready" in said[-1]
    assert (context.settings.state / "redis-damaged-1").is_dir()


@pytest.mark.thorough
def test_a_dashboard_that_hangs_is_killed_and_restarted(context: Context) -> None:
    found = _services(context.settings, context, port=free_port(), workers=1, address="127.0.0.1")
    [dashboard] = [one for one in found if one.name == "web"]
    said: list[str] = []

    def tended(words: str) -> bool:
        dashboard.tend(said.append)
        return words in said[-1] if said else False

    dashboard.start()
    try:
        wait_until(lambda: tended("ready"), seconds=120, what="the dashboard")
        assert dashboard.probe is not None
        assert dashboard.probe_seconds * service.FAILED_PROBES == 30
        dashboard.probe.end()
        dashboard.probe = Probe(dashboard.health, every=0.2)  # type: ignore[arg-type]
        dashboard.probe.start()
        first = dashboard.process
        assert first is not None
        wait_until(
            lambda: dashboard.probe and dashboard.probe.answered, seconds=60, what="an answer"
        )
        first.send_signal(signal.SIGSTOP)
        wait_until(lambda: tended("did not respond"), seconds=60, what="the end of what hangs")
        assert first.returncode == -signal.SIGKILL
        assert "  web       did not respond for " in said[-1]
        assert "and was killed; restarting in 0.5 s (log: " in said[-1]
        wait_until(lambda: tended("ready"), seconds=120, what="the next dashboard")
        assert dashboard.process is not first
        assert len(said) == 3
    finally:
        dashboard.end(10)


@pytest.fixture
def small(tmp_path: Path) -> Service:
    """A service that starts at once and hangs within a second."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "http.server",
        "--bind",
        "127.0.0.1",
        "--directory",
        str(tmp_path),
        str(port),
    ]
    health = Health("127.0.0.1", port, "/")
    return Service("small", command, tmp_path / "log", lambda: None, health, probe_seconds=0.15)


def test_the_process_of_a_container_ends_when_its_service_hangs(
    small: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    ending = Event()
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(web.watch, small, ending.is_set)
        wait_until(lambda: small.probe and small.probe.answered, seconds=60, what="an answer")
        assert small.process is not None
        small.process.send_signal(signal.SIGSTOP)
        try:
            assert code.result(60) == 128 + signal.SIGKILL
        finally:
            ending.set()
    assert not psutil.pid_exists(small.process.pid)
    assert "the dashboard did not respond for " in capsys.readouterr().out


def test_the_process_of_a_container_ends_with_its_service_and_takes_it_along(
    small: Service,
) -> None:
    ending = Event()
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(web.watch, small, ending.is_set)
        wait_until(lambda: small.probe and small.probe.answered, seconds=60, what="an answer")
        ending.set()
        assert code.result(60) == 0
        assert small.process is not None
        assert small.process.returncode == -signal.SIGTERM
    small.command = [sys.executable, "-c", "raise SystemExit(3)"]
    assert web.watch(small, lambda: False) == 3


def test_a_slow_start_is_no_hang() -> None:
    probe = Probe(Health("127.0.0.1", free_port(), "/"), every=0.01)
    probe.start()
    try:
        wait_until(
            lambda: probe.failures > 2 * service.FAILED_PROBES, seconds=60, what="failed probes"
        )
        assert not probe.hangs or probe.failures >= service.FAILED_PROBES_AT_START
    finally:
        probe.end()
