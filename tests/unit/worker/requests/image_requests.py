"""Requests for images of a run: stored, claimed, and answered in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ganboard.db import requests
from ganboard.db.models import Request, Run
from ganboard.worker.context import Context
from ganboard.worker.requests import loop
from ganboard.worker.requests.inference_worker import InferenceWorker

DRAW: dict[str, Any] = {"seed": 1, "images": 4}


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
