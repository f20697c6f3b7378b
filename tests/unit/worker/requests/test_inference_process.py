"""The process of the inference worker, and what becomes of requests when it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import psutil
import pytest

from ganboard.db import heartbeats, requests
from ganboard.db.models import Request, Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.requests import loop
from ganboard.worker.requests.inference_worker import InferenceWorker
from tests.polling import wait_until
from tests.unit.worker.requests.image_requests import claimed, stored

PATIENCE = 120.0  # s; a loaded machine takes its time to load TensorFlow


@contextmanager
def process(*, idle_seconds: float = 900) -> Iterator[psutil.Process]:
    """An inference worker as the supervisor starts it; it must end by itself on SIGTERM."""
    code = (
        f"import ganboard.worker.requests.inference_worker as p; p.IDLE_SECONDS = {idle_seconds};"
        " p.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment_for_child(), stdout=subprocess.DEVNULL
    ) as child:
        try:
            yield psutil.Process(child.pid)
        finally:
            child.terminate()
        assert child.wait(PATIENCE) in (0, -signal.SIGKILL)


def tensorflow_in(found: psutil.Process) -> bool:
    return "libtensorflow" in Path(f"/proc/{found.pid}/maps").read_text()


def alive(context: Context) -> bool:
    return any(state.alive for state in heartbeats.inference_workers(context.engine))


def last_heartbeat(context: Context) -> datetime:
    [state] = heartbeats.inference_workers(context.engine)
    return state.worker.heartbeat_at


def in_work(context: Context, request_id: str) -> bool:
    found = requests.find(context.engine, request_id)
    return found is not None and found.claimed_at is not None


def result(context: Context, request_id: str) -> Request:
    def answer() -> Request | None:
        found = requests.find(context.engine, request_id)
        return found if found and found.answered_at else None

    return wait_until(answer, seconds=PATIENCE, what="the answer")


@pytest.mark.thorough
@pytest.mark.slow
def test_tensorflow_comes_with_the_first_request_and_goes_when_nobody_asks(
    context: Context, run: Run
) -> None:
    with process(idle_seconds=1.0) as found:
        wait_until(lambda: alive(context), seconds=PATIENCE, what="a heartbeat")
        assert not tensorflow_in(found)
        small = found.memory_info().rss
        # nobody notifies: it polls by itself
        request_id = stored(context, run)
        assert result(context, request_id).error is None
        wait_until(
            lambda: (
                not tensorflow_in(found)
                and "ganboard.worker.requests.inference_worker" in found.cmdline()
            ),
            seconds=PATIENCE,
            what="its new life",
        )
        renewed = queries.database_time(context.engine)
        wait_until(
            lambda: last_heartbeat(context) > renewed,
            seconds=PATIENCE,
            what="a heartbeat of its new life",
        )
        assert found.memory_info().rss < 1.2 * small + 20e6
    assert not heartbeats.inference_workers(context.engine)  # it said good-bye


@pytest.mark.thorough
@pytest.mark.slow
def test_a_request_survives_a_worker_that_is_killed_over_it(
    context: Context, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "ABANDONED_SECONDS", 0.0)
    with process() as first:
        wait_until(lambda: alive(context), seconds=PATIENCE, what="a heartbeat")
        request_id = stored(context, run)
        wait_until(lambda: in_work(context, request_id), seconds=PATIENCE, what="the claim")
        first.kill()
    request = claimed(context)
    assert (request.id, request.tries) == (request_id, 2)
    loop.answer(context, request, InferenceWorker().compute)
    assert result(context, request_id).result is not None


@pytest.mark.thorough
@pytest.mark.slow
def test_a_worker_that_is_terminated_returns_its_request(context: Context, run: Run) -> None:
    with process() as found:
        wait_until(lambda: alive(context), seconds=PATIENCE, what="a heartbeat")
        request_id = stored(context, run)
        wait_until(lambda: in_work(context, request_id), seconds=PATIENCE, what="the claim")
        found.send_signal(signal.SIGTERM)
        found.wait(PATIENCE)
    found = requests.find(context.engine, request_id)
    assert found is not None
    assert found.answered_at or found.claimed_at is None


@pytest.mark.thorough
def test_it_ends_with_its_parent(context: Context) -> None:
    code = (
        "import subprocess, sys, time; from ganboard.worker.process.parent_death import"
        " environment_for_child\nchild = subprocess.Popen([sys.executable, '-m',"
        " 'ganboard.worker.requests.inference_worker'], env=environment_for_child(),"
        " stdout=subprocess.DEVNULL)\nprint(child.pid, flush=True); time.sleep(100)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        wait_until(lambda: alive(context), seconds=PATIENCE, what="a heartbeat")
        os.kill(parent.pid, signal.SIGKILL)
    assert not psutil.wait_procs([child], timeout=10)[1]


@pytest.mark.thorough
def test_an_unusable_database_is_said_in_a_sentence(home: Path) -> None:
    env = {**os.environ, "GANBOARD_DATABASE_URL": "sqlite:////proc/nowhere/x.db"}
    done = subprocess.run(
        [sys.executable, "-m", "ganboard.worker.requests.inference_worker"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("ganboard: ")
    assert "Traceback" not in done.stderr
