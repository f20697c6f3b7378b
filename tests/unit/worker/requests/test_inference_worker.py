"""The answers of the inference worker to requests, good and bad."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ganboard.db.models import Request, Run
from ganboard.db.runs import commands
from ganboard.gan.config import parse
from ganboard.gan.data import digits
from ganboard.worker.context import Context
from ganboard.worker.requests.inference_worker import InferenceWorker
from tests import registered
from tests.stored import store
from tests.unit.worker.requests.image_requests import answered, checkpoints_of

MakeRun = Callable[..., Run]


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
    config = parse(run.config)
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
    store(parse(run.config), checkpoints_of(context, run))
    asked = answered(context, run, kind="nearest", options={"seed": 1, "picks": [0]})
    assert str(asked.error).startswith(f"mnist is not in {context.settings.data}")
