"""What becomes of a request when its computation, its worker or its run ends."""

from __future__ import annotations

import pytest

from ganboard.db import requests
from ganboard.db.models import Run
from ganboard.db.runs import commands
from ganboard.worker.context import Context
from ganboard.worker.requests import loop
from ganboard.worker.requests.inference_worker import InferenceWorker
from tests.unit.worker.requests.image_requests import answered, claimed, stored


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
