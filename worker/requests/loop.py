"""Claim a request, compute it, answer it: what the inference worker and the analysis worker do,
each with its own queue."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from ganboard.db import requests
from ganboard.db.models import Request
from ganboard.gan.generation.latent_requests import InvalidRequest
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context

log = logging.getLogger("ganboard.requests")

REPORT_SECONDS = 1.0  # between two rows for the same phase
HEARTBEAT_SECONDS = 5.0  # compiling a network reports nothing for longer than a claim lives

OnProgress = Callable[[str, float], None]  # phase, and the share of the request that is done
Compute = Callable[[Context, Request, OnProgress], tuple[bytes, dict[str, Any]]]


class Withdrawn(Exception):
    """The request is gone, or another process has it."""


def answer_next(context: Context, queue: requests.Queue, compute: Compute) -> bool:
    """Claim and answer the request that has waited longest; False if none waits. A process that is
    asked to end gives its claim back. Raises errors of the database."""
    request = requests.claim(context.engine, queue)
    if request is None:
        return False
    try:
        answer(context, request, compute)
    except Withdrawn:
        pass
    except SystemExit:
        with contextlib.suppress(SQLAlchemyError):
            requests.release(context.engine, request)
        raise
    return True


def answer(
    context: Context,
    request: Request,
    compute: Compute,
    on_progress: OnProgress = lambda phase, progress: None,
) -> None:
    """Store the result and the facts of a claimed request, or why there are none in one sentence.
    Raises Withdrawn and errors of the database only."""
    # accelerators are for trainings; a GPU would give up memory for what a CPU does in milliseconds
    os.environ.update(
        CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="2", KERAS_BACKEND="tensorflow"
    )
    began = time.monotonic()
    result: bytes | None = None
    facts: dict[str, Any] = {}
    error: str | None = None
    with _Heartbeat(context, request, on_progress) as heartbeat:
        try:
            if request.tries > requests.MAX_TRIES:
                raise InvalidRequest(
                    f"The process that computed this request ended {requests.MAX_TRIES} times. See"
                    " the log of the inference worker."
                )
            result, facts = compute(context, request, heartbeat.report)
        except (SQLAlchemyError, Withdrawn):
            raise
        except CLEAR_ERRORS as clear:
            error = str(clear)
        # the last line of defence: a person waits, and the log keeps the rest
        except Exception as defect:
            log.exception("Request %s failed", request.id)
            cause = (str(defect).strip().splitlines() or [""])[0][:300]
            error = (
                f"The computation failed with {type(defect).__name__}: {cause.rstrip('.')}. See the"
                " log of the inference worker for details."
            )
        else:
            facts = {"seconds": time.monotonic() - began, **facts}
        requests.answer(context.engine, request, result=result, facts=facts, error=error)


class _Heartbeat:
    """Renews a claim while its request is computed, in its own thread."""

    def __init__(self, context: Context, request: Request, on_progress: OnProgress) -> None:
        self._engine = context.engine
        self._request = request
        self._on_progress = on_progress
        self._last = "", 0.0  # phase and progress
        self._written_at = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def report(self, phase: str, progress: float) -> None:
        """Raises Withdrawn."""
        same_phase = phase == self._last[0]
        self._last = phase, progress
        self._on_progress(phase, progress)
        if same_phase and time.monotonic() - self._written_at < REPORT_SECONDS:
            return
        self._written_at = time.monotonic()
        if not requests.heartbeat(self._engine, self._request, phase, progress):
            raise Withdrawn

    def _run(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with contextlib.suppress(SQLAlchemyError):  # the computing thread meets it too
                requests.heartbeat(self._engine, self._request, *self._last)
