"""The health checks of docker-compose.yml, run as Docker runs them, against real processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
import yaml
from redis import Redis
from starlette.applications import Starlette

from ganboard.app.web import health as pages
from ganboard.db.settings import Settings
from ganboard.worker.context import Context
from ganboard.worker.process import health
from ganboard.worker.requests.inference_worker import Heartbeat, InferenceWorker
from tests.polling import wait_until
from tests.up import free_port

COMPOSE = yaml.safe_load((Path(__file__).parents[4] / "docker-compose.yml").read_text())
PORT = 8501  # inside the web's container
# all that the checks of our services may use, of what the images have
PROGRAMS = ("bash", "find", "sh")


def check(service: str, programs: Path, *, port: int = PORT, **variables: str) -> bool:
    """Whether Docker would call the service healthy; the check finds no program but those in
    `programs`."""
    kind, *words = COMPOSE["services"][service]["healthcheck"]["test"]
    command = ["sh", "-c", *words] if kind == "CMD-SHELL" else words
    command = [word.replace("$$", "$").replace(str(PORT), str(port)) for word in command]
    ran = subprocess.run(
        command,
        env={"PATH": str(programs), **variables},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "not found" not in ran.stderr, ran.stderr
    return ran.returncode == 0


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the shell and its helpers, and nothing else: above all no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    return folder


@pytest.fixture
def heartbeat(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = home.parent / "heartbeat"
    monkeypatch.setenv("GANBOARD_HEARTBEAT", str(file))
    return file


def age(file: Path, seconds: float) -> None:
    os.utime(file, (time.time() - seconds,) * 2)


@pytest.mark.parametrize(
    "service", ["worker", "worker-gpu", "inference-worker", "alerts", "claims"]
)
def test_a_process_is_healthy_while_its_heartbeat_is_fresh(
    service: str, programs: Path, heartbeat: Path
) -> None:
    environment = COMPOSE["services"][service]["environment"]
    assert environment["GANBOARD_HEARTBEAT"].startswith("/tmp/"), "of this container alone"
    where = {"GANBOARD_HEARTBEAT": str(heartbeat)}
    assert not check(service, programs, **where)
    health.touch(Settings())
    assert check(service, programs, **where)
    age(heartbeat, 50)
    assert check(service, programs, **where)
    age(heartbeat, 70)
    assert not check(service, programs, **where)


@pytest.mark.thorough
def test_a_worker_is_healthy_unless_its_loop_stands(
    redis: Redis, programs: Path, heartbeat: Path
) -> None:
    where = {"GANBOARD_HEARTBEAT": str(heartbeat)}
    with subprocess.Popen([sys.executable, "-m", "ganboard.worker.queue.rq_worker"]) as worker:
        wait_until(
            lambda: check("worker", programs, **where), seconds=90, what="the first heartbeat"
        )
        worker.send_signal(signal.SIGSTOP)
        age(heartbeat, 70)
        assert not check("worker", programs, **where)
        worker.send_signal(signal.SIGCONT)
        wait_until(
            lambda: check("worker", programs, **where), seconds=30, what="the next heartbeat"
        )
        worker.kill()


def test_an_inference_worker_is_healthy_while_its_database_is_away(
    heartbeat: Path, context: Context, programs: Path
) -> None:
    beating = Heartbeat(context, InferenceWorker())
    context.settings.state.rename(context.settings.state.with_name("elsewhere"))
    beating.start()
    wait_until(
        lambda: check("inference-worker", programs, GANBOARD_HEARTBEAT=str(heartbeat)),
        seconds=20,
        what="the heartbeat",
    )
    beating.end()


def test_a_heartbeat_that_cannot_be_written_is_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GANBOARD_HEARTBEAT", str(home / "missing" / "file"))
    health.touch(Settings())
    [line] = caplog.messages
    assert "missing/file cannot be written (No such file or directory)" in line


@contextmanager
def web(context: Context) -> Iterator[int]:
    """The pages that a health check asks, served as the dashboard serves them; gives the port."""
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(Starlette(routes=pages.ROUTES), port=port, log_level="error")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started, seconds=20, what="the server")
        yield port
    finally:
        server.should_exit = True
        thread.join()


def test_the_web_is_healthy_while_it_answers(
    context: Context, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "context", lambda: context)
    with web(context) as port:
        assert check("web", programs, port=port)
        context.settings.state.rename(context.settings.state.with_name("elsewhere"))
        assert not check("web", programs, port=port), "it answers 503 while the database is away"
    assert not check("web", programs, port=port), "nobody listens"
