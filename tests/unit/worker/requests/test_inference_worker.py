"""The inference worker: its answers, and what becomes of it and of requests when something ends."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from PIL import Image
from redis import Redis

from ganboard.db import heartbeats, requests
from ganboard.db.models import Request, Run
from ganboard.db.runs import commands, queries
from ganboard.gan.config import RunConfig
from ganboard.gan.data import digits
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.requests import loop, notify
from ganboard.worker.requests.inference_worker import InferenceWorker
from ganboard.worker.requests.notify import Notifications, ask
from tests import registered
from tests.polling import wait_until
from tests.stored import store

MakeRun = Callable[..., Run]
PATIENCE = 120.0  # s; a loaded machine takes its time to load TensorFlow
DRAW: dict[str, Any] = {"seed": 1, "images": 4}


@pytest.fixture
def run(context: Context, make_run: MakeRun) -> Run:
    """A finished run with a real checkpoint of step 12."""
    found = make_run("drawable")
    store(RunConfig.model_validate(found.config), checkpoints_of(context, found))
    return found


def checkpoints_of(context: Context, run: Run) -> Path:
    return context.settings.run_dir(run.id) / "checkpoints"


def stored(
    context: Context,
    run: Run,
    *,
    step: int = 12,
    kind: str = "draw",
    options: dict[str, Any] = DRAW,
) -> str:
    return requests.ask(context.engine, kind, [run.id], options, step=step)


def claimed(context: Context) -> Request:
    request = requests.claim(context.engine, requests.IMAGES)
    assert request is not None
    return request


def answered(
    context: Context, run: Run, worker: InferenceWorker | None = None, **request: Any
) -> Request:
    """Ask and have it answered in this process."""
    request_id = stored(context, run, **request)
    worker = worker or InferenceWorker()
    assert loop.answer_next(context, requests.IMAGES, worker.compute)
    found = requests.find(context.engine, request_id)
    assert found is not None
    assert found.answered_at
    return found


def pixels(answer: Request) -> np.ndarray:
    assert answer.result is not None, answer.error
    with Image.open(io.BytesIO(answer.result)) as image:
        return np.asarray(image)


def test_every_kind_is_drawn(context: Context, run: Run) -> None:
    worker = InferenceWorker()
    drawn = answered(context, run, worker)
    assert pixels(drawn).shape == (56, 56)
    assert drawn.facts.items() >= {"columns": 2, "images": 4}.items()
    assert 0 < drawn.facts["seconds"] < 60
    walk = answered(
        context,
        run,
        worker,
        kind="interpolate",
        options={"seed": 1, "other": 2, "steps": 5, "rows": 3},
    )
    assert pixels(walk).shape == (3 * 28, 5 * 28)
    np.testing.assert_allclose(pixels(walk)[:28, :28], pixels(drawn)[:28, :28], atol=1)
    around = answered(
        context, run, worker, kind="around", options={"seed": 1, "row": 0, "degrees": 20}
    )
    assert pixels(around).shape == (7 * 28, 7 * 28)
    np.testing.assert_allclose(pixels(around)[84:112, 84:112], pixels(drawn)[:28, :28], atol=1)


def test_showers_are_drawn_at_an_energy(context: Context) -> None:
    run, _ = registered.finished(context, registered.config(registered.GAN3D))
    drawn = answered(context, run, options={"seed": 1, "images": 4, "energy": 150.0})
    assert pixels(drawn).shape == (50, 50)
    refused = answered(context, run, options={"seed": 1, "images": 4, "energy": 900.0})
    assert refused.error == "energy=900.0 is invalid: input should be less than or equal to 500."
    near = answered(context, run, kind="nearest", options={"seed": 1, "picks": [0]})
    assert str(near.error).startswith(
        "Training images are compared with images, and model=gan3d makes showers"
    )


def test_nearest_images_are_those_of_the_training_set(context: Context, run: Run) -> None:
    asked = answered(context, run, kind="nearest", options={"seed": 1, "picks": [2, 0]})
    sheet, facts = pixels(asked), asked.facts
    assert sheet.shape == (2 * 28, 7 * 28)
    images = digits.load(128).images  # the run's limit
    assert facts["searched"] == 128
    own = sheet.reshape(2, 28, 7, 28).swapaxes(1, 2)
    for row in range(2):
        distances = np.sqrt(
            (((own[row, 0] / 255.0)[None] - images[..., 0] / 255.0) ** 2).sum((1, 2))
        )
        # the sheet has rounded the drawn image
        np.testing.assert_allclose(facts["distances"][row], np.sort(distances)[:6], atol=0.05)
        assert any((own[row, 1] == image[..., 0]).all() for image in images)
    assert facts["spacing"] > 0


def test_the_last_three_generators_stay_in_memory(context: Context, run: Run) -> None:
    worker = InferenceWorker()
    config = RunConfig.model_validate(run.config)
    for step in (12, 13, 14, 15):
        if step > 12:
            store(config, checkpoints_of(context, run), step=step)
        assert answered(context, run, worker, step=step).error is None
    for path in checkpoints_of(context, run).glob("ckpt-*/state.npz"):
        path.unlink()
    assert answered(context, run, worker, step=13).error is None
    assert "of step 12 no longer exists" in str(answered(context, run, worker, step=12).error)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"kind": "__import__"}, "'__import__' is not supported"),
        ({"options": {"seed": 1, "images": 10**9}}, "images=1000000000 is invalid"),
        ({"options": {"seed": -1, "images": 4}}, "seed=-1 is invalid"),
        ({"options": {}}, "seed={} is invalid: field required"),
        ({"step": 999}, "The checkpoint of step 999 no longer exists"),
        ({"step": -1}, "The checkpoint of step -1 no longer exists"),
    ],
)
def test_a_bad_request_ends_in_a_sentence(
    context: Context, run: Run, request_: dict[str, Any], words: str
) -> None:
    worker = InferenceWorker()
    assert words in str(answered(context, run, worker, **request_).error)
    assert answered(context, run, worker).error is None


def test_a_run_of_another_version_ends_in_a_sentence(context: Context, run: Run) -> None:
    own = commands.create_run(
        context.engine, name="foreign", config={**run.config, "model": "stylegan"}
    )
    assert "model=stylegan is not allowed" in str(answered(context, own).error)


def test_training_images_that_are_absent_are_not_downloaded(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("of mnist", dataset="mnist")
    store(RunConfig.model_validate(run.config), checkpoints_of(context, run))
    asked = answered(context, run, kind="nearest", options={"seed": 1, "picks": [0]})
    assert str(asked.error).startswith(f"mnist is not in {context.settings.data}")


def test_a_defect_is_reported_and_survived(
    context: Context, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ganboard.gan.generation.paint.images", lambda *_: 1 / 0)
        error = str(answered(context, run).error)
    assert "failed with ZeroDivisionError: division by zero." in error
    assert answered(context, run).error is None


def test_a_request_that_ends_every_worker_is_given_up(context: Context, run: Run) -> None:
    stored(context, run)
    request = claimed(context)
    request.tries = requests.MAX_TRIES + 1
    loop.answer(context, request, InferenceWorker().compute)
    found = requests.find(context.engine, request.id)
    assert found is not None
    assert "ended 2 times" in str(found.error)


def test_a_run_that_is_deleted_meanwhile_harms_nothing(context: Context, run: Run) -> None:
    stored(context, run)
    request = claimed(context)
    commands.delete_run(context.engine, run_id=run.id)
    loop.answer(context, request, InferenceWorker().compute)
    assert requests.find(context.engine, request.id) is None


def test_asking_checks_stores_and_notifies(context: Context, run: Run, redis: Redis) -> None:
    with pytest.raises(CLEAR_ERRORS, match="is invalid"):
        ask(context, "draw", run.id, {"seed": 1, "images": 65}, step=12)
    assert requests.claim(context.engine, requests.IMAGES) is None
    request_id = ask(context, "draw", run.id, DRAW, step=12)
    sent = wait_until(lambda: redis.lrange(notify.CHANNEL, 0, -1), seconds=5)
    assert sent == [request_id.encode()]
    Notifications(context).wait(30)  # returns at once
    assert redis.llen(notify.CHANNEL) == 0
    for _ in range(notify.KEPT + 5):
        notify.notify(context, request_id)
    assert redis.llen(notify.CHANNEL) == notify.KEPT


def test_without_redis_a_request_is_stored_and_the_wait_ends(context: Context, run: Run) -> None:
    notify.notify(context, ask(context, "draw", run.id, DRAW, step=12))
    Notifications(context).wait(0.01)
    assert requests.claim(context.engine, requests.IMAGES) is not None


# --- the process ---


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
