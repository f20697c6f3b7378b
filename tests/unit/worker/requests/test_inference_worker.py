"""The painter: what it answers, and what becomes of it and of requests when something ends."""

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

from ganboard.db import drawings
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.gan.config import RunConfig
from ganboard.gan.data import digits
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.requests import notify
from ganboard.worker.requests.inference_worker import Painter
from ganboard.worker.requests.notify import Bell, ask
from tests import registered
from tests.polling import wait_until
from tests.stored import store

MakeRun = Callable[..., Run]
PATIENCE = 120.0  # s; a loaded machine takes its time to load TensorFlow
DRAW = {"kind": "draw", "options": {"seed": 1, "images": 4}}


@pytest.fixture
def run(context: Context, make_run: MakeRun) -> Run:
    """A finished run with a real checkpoint of step 12."""
    found = make_run("drawable")
    store(RunConfig.model_validate(found.config), checkpoints_of(context, found))
    return found


def checkpoints_of(context: Context, run: Run) -> Path:
    return context.settings.run_dir(run.id) / "checkpoints"


def answered(context: Context, artist: Painter, run: Run, **request: Any) -> drawings.Asked:
    """Ask and have it answered in this process."""
    drawing_id = drawings.ask(context.engine, **{"run_id": run.id, "step": 12, **DRAW, **request})
    drawing = drawings.claim(context.engine)
    assert drawing is not None
    assert drawing.id == drawing_id
    artist.answer(drawing)
    asked = drawings.find(context.engine, drawing_id)
    assert asked is not None
    return asked


def pixels(asked: drawings.Asked) -> np.ndarray:
    assert asked.drawing.png is not None, asked.drawing.error
    with Image.open(io.BytesIO(asked.drawing.png)) as image:
        return np.asarray(image)


def test_every_kind_is_drawn(context: Context, run: Run) -> None:
    artist = Painter(context)
    drawn = answered(context, artist, run)
    assert pixels(drawn).shape == (56, 56)
    assert drawn.drawing.facts.items() >= {"columns": 2, "images": 4}.items()
    assert 0 < drawn.drawing.facts["seconds"] < 60
    walk = answered(
        context,
        artist,
        run,
        kind="interpolate",
        options={"seed": 1, "other": 2, "steps": 5, "rows": 3},
    )
    assert pixels(walk).shape == (3 * 28, 5 * 28)
    np.testing.assert_allclose(pixels(walk)[:28, :28], pixels(drawn)[:28, :28], atol=1)
    around = answered(
        context, artist, run, kind="around", options={"seed": 1, "row": 0, "degrees": 20}
    )
    assert pixels(around).shape == (7 * 28, 7 * 28)
    np.testing.assert_allclose(pixels(around)[84:112, 84:112], pixels(drawn)[:28, :28], atol=1)


def test_showers_are_drawn_at_an_energy(context: Context) -> None:
    run, _ = registered.finished(context, registered.config(registered.GAN3D))
    drawn = answered(
        context, Painter(context), run, options={"seed": 1, "images": 4, "energy": 150.0}
    )
    assert pixels(drawn).shape == (50, 50)
    refused = answered(
        context, Painter(context), run, options={"seed": 1, "images": 4, "energy": 900.0}
    )
    assert (
        refused.drawing.error
        == "energy=900.0 cannot be drawn: input should be less than or equal to 500."
    )
    near = answered(
        context, Painter(context), run, kind="nearest", options={"seed": 1, "picks": [0]}
    )
    assert str(near.drawing.error).startswith(
        "Training images are compared with images, and model=gan3d makes showers"
    )


def test_nearest_images_are_those_of_the_training_set(context: Context, run: Run) -> None:
    asked = answered(
        context, Painter(context), run, kind="nearest", options={"seed": 1, "picks": [2, 0]}
    )
    sheet, facts = pixels(asked), asked.drawing.facts
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
    artist, config = Painter(context), RunConfig.model_validate(run.config)
    for step in (12, 13, 14, 15):
        if step > 12:
            store(config, checkpoints_of(context, run), step=step)
        assert answered(context, artist, run, step=step).drawing.error is None
    for path in checkpoints_of(context, run).glob("ckpt-*/state.npz"):
        path.unlink()
    assert answered(context, artist, run, step=13).drawing.error is None
    assert "of step 12 is gone" in str(answered(context, artist, run, step=12).drawing.error)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"kind": "__import__"}, "'__import__' cannot be drawn"),
        ({"options": {"seed": 1, "images": 10**9}}, "images=1000000000 cannot be drawn"),
        ({"options": {"seed": -1, "images": 4}}, "seed=-1 cannot be drawn"),
        ({"options": {}}, "seed={} cannot be drawn: field required"),
        ({"step": 999}, "The checkpoint of step 999 is gone"),
        ({"step": -1}, "The checkpoint of step -1 is gone"),
    ],
)
def test_a_bad_request_ends_in_a_sentence(
    context: Context, run: Run, request_: dict[str, Any], words: str
) -> None:
    artist = Painter(context)
    assert words in str(answered(context, artist, run, **request_).drawing.error)
    assert answered(context, artist, run).drawing.error is None


def test_a_run_of_another_version_ends_in_a_sentence(context: Context, run: Run) -> None:
    own = commands.create_run(
        context.engine, name="foreign", config={**run.config, "model": "stylegan"}
    )
    assert "model=stylegan is not allowed" in str(
        answered(context, Painter(context), own).drawing.error
    )


def test_training_images_that_are_absent_are_not_downloaded(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("of mnist", dataset="mnist")
    store(RunConfig.model_validate(run.config), checkpoints_of(context, run))
    asked = answered(
        context, Painter(context), run, kind="nearest", options={"seed": 1, "picks": [0]}
    )
    assert str(asked.drawing.error).startswith(f"mnist is not in {context.settings.data}")


def test_a_defect_is_told_and_outlived(
    context: Context, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    artist = Painter(context)
    with monkeypatch.context() as patch:
        patch.setattr("ganboard.gan.generation.paint.images", lambda *_: 1 / 0)
        asked = answered(context, artist, run)
    assert (
        asked.drawing.error
        == "The painter failed with ZeroDivisionError: division by zero Its log has the details."
    )
    assert answered(context, artist, run).drawing.error is None


def test_a_request_that_ends_every_painter_is_given_up(context: Context, run: Run) -> None:
    drawings.ask(context.engine, run_id=run.id, step=12, **DRAW)
    drawing = drawings.claim(context.engine)
    assert drawing is not None
    drawing.facts = {"tries": drawings.MAX_TRIES + 1}
    Painter(context).answer(drawing)
    asked = drawings.find(context.engine, drawing.id)
    assert asked is not None
    assert str(asked.drawing.error).startswith("The painter ended 2 times over this drawing")


def test_a_run_that_is_deleted_while_it_is_drawn_harms_nothing(context: Context, run: Run) -> None:
    drawings.ask(context.engine, run_id=run.id, step=12, **DRAW)
    drawing = drawings.claim(context.engine)
    assert drawing is not None
    commands.delete_run(context.engine, run_id=run.id)
    Painter(context).answer(drawing)
    assert drawings.find(context.engine, drawing.id) is None


def test_asking_checks_stores_and_rings(context: Context, run: Run, redis: Redis) -> None:
    with pytest.raises(CLEAR_ERRORS, match="cannot be drawn"):
        ask(context, run_id=run.id, step=12, kind="draw", options={"seed": 1, "images": 65})
    assert drawings.claim(context.engine) is None
    drawing_id = ask(context, run_id=run.id, step=12, **DRAW)
    assert wait_until(lambda: redis.lrange(notify.BELL, 0, -1), seconds=5) == [drawing_id.encode()]
    Bell(context).wait(30)  # returns at once
    assert redis.llen(notify.BELL) == 0
    for _ in range(notify.RINGS_KEPT + 5):
        notify.ring(context, drawing_id)
    assert redis.llen(notify.BELL) == notify.RINGS_KEPT


def test_without_redis_a_request_is_stored_and_the_bell_only_waits(
    context: Context, run: Run
) -> None:
    notify.ring(context, ask(context, run_id=run.id, step=12, **DRAW))
    Bell(context).wait(0.01)
    assert drawings.claim(context.engine) is not None


# --- the process ---


@contextmanager
def process(*, idle_seconds: float = 900) -> Iterator[psutil.Process]:
    """A painter as the supervisor starts it; it must end by itself on SIGTERM."""
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
    return any(state.alive for state in queries.painters(context.engine))


def beaten(context: Context) -> datetime:
    [state] = queries.painters(context.engine)
    return state.worker.beat_at


def begun(context: Context, drawing_id: str) -> bool:
    asked = drawings.find(context.engine, drawing_id)
    return asked is not None and asked.drawing.begun_at is not None


def result(context: Context, drawing_id: str) -> drawings.Asked:
    def found() -> drawings.Asked | None:
        asked = drawings.find(context.engine, drawing_id)
        return asked if asked and asked.answered else None

    answer = wait_until(found, seconds=PATIENCE, what="the answer")
    assert answer is not None
    return answer


@pytest.mark.slow
def test_tensorflow_comes_with_the_first_request_and_goes_when_nobody_asks(
    context: Context, run: Run
) -> None:
    with process(idle_seconds=1.0) as found:
        wait_until(lambda: alive(context), seconds=PATIENCE, what="a sign of life")
        assert not tensorflow_in(found)
        small = found.memory_info().rss
        # nobody rings: it looks by itself
        drawing_id = drawings.ask(context.engine, run_id=run.id, step=12, **DRAW)
        assert result(context, drawing_id).drawing.error is None
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
            lambda: beaten(context) > renewed, seconds=PATIENCE, what="a sign of its new life"
        )
        assert found.memory_info().rss < 1.2 * small + 20e6
    assert not queries.painters(context.engine)  # it said good-bye


@pytest.mark.slow
def test_a_request_outlives_a_painter_that_is_killed_over_it(
    context: Context, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawings, "ABANDONED_SECONDS", 0.0)
    with process() as first:
        wait_until(lambda: alive(context), seconds=PATIENCE, what="a sign of life")
        drawing_id = drawings.ask(context.engine, run_id=run.id, step=12, **DRAW)
        wait_until(
            lambda: (asked := drawings.find(context.engine, drawing_id)) and asked.drawing.begun_at,
            seconds=PATIENCE,
            what="the claim",
        )
        first.kill()
    drawing = drawings.claim(context.engine)
    assert drawing is not None
    assert (drawing.id, drawing.facts["tries"]) == (drawing_id, 2)
    Painter(context).answer(drawing)
    assert result(context, drawing_id).drawing.png is not None


@pytest.mark.slow
def test_a_painter_that_is_told_to_end_gives_its_request_back(context: Context, run: Run) -> None:
    with process() as found:
        wait_until(lambda: alive(context), seconds=PATIENCE, what="a sign of life")
        drawing_id = drawings.ask(context.engine, run_id=run.id, step=12, **DRAW)
        wait_until(
            lambda: (asked := drawings.find(context.engine, drawing_id)) and asked.drawing.begun_at,
            seconds=PATIENCE,
            what="the claim",
        )
        found.send_signal(signal.SIGTERM)
        found.wait(PATIENCE)
    asked = drawings.find(context.engine, drawing_id)
    assert asked is not None
    assert asked.answered or asked.drawing.begun_at is None


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
        wait_until(lambda: alive(context), seconds=PATIENCE, what="a sign of life")
        os.kill(parent.pid, signal.SIGKILL)
    assert not psutil.wait_procs([child], timeout=10)[1]


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
