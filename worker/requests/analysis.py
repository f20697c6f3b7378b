"""`python -m ganboard.worker.requests.analysis`: computes the loss surfaces and predictions that
were asked for, one after another, and ends when none waits.

A painter starts it (`Surveyors.tend`), so that TensorFlow's memory goes when it ends and drawings
are answered meanwhile.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sqlalchemy.exc import SQLAlchemyError

from ganboard.db import surfaces
from ganboard.db.models import Surface
from ganboard.db.runs import queries
from ganboard.gan import config as configs
from ganboard.gan.landscape import geometry
from ganboard.gan.landscape.geometry import LandscapeError
from ganboard.worker import logs
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.process.parent_death import die_with_named_parent, environment_for_child

log = logging.getLogger("ganboard.surveyor")

BEAT_SECONDS = 1.0
QUIET_SECONDS = 5.0  # compiling a network says nothing for longer than a claim lives
NICE = 10  # trainings go first


class Withdrawn(Exception):
    """The request is gone, or somebody else's."""


def survey(
    context: Context,
    surface: Surface,
    told: Callable[[str, float], None] = lambda phase, done: None,
) -> None:
    """Compute a claimed request, or say in one sentence why it cannot be. Only errors of the
    database itself and Withdrawn are raised."""
    engine, beat_at, ended = context.engine, 0.0, threading.Event()
    last = "warming", 0.0

    def tell(phase: str, done: float) -> None:
        nonlocal beat_at, last
        last = phase, done
        told(phase, done)
        if time.monotonic() - beat_at >= BEAT_SECONDS:
            beat_at = time.monotonic()
            if not surfaces.say(engine, surface, phase, done):
                raise Withdrawn

    def beat() -> None:
        while not ended.wait(QUIET_SECONDS):
            with contextlib.suppress(SQLAlchemyError):  # whoever computes hears of it
                surfaces.say(engine, surface, *last)

    pulse = threading.Thread(target=beat, daemon=True)
    pulse.start()
    try:
        if surface.tries > surfaces.MAX_TRIES:
            raise LandscapeError(
                f"Computing it ended {surfaces.MAX_TRIES} times: the painter's log may say why."
            )
        arrays, facts = _compute(context, surface, tell)
    except (SQLAlchemyError, Withdrawn):
        raise
    except CLEAR_ERRORS as clear:
        surfaces.answer(engine, surface, error=str(clear))
    # the last line of defence: a person waits, and the log keeps the rest
    except Exception as defect:
        log.exception("Surface %s failed", surface.id)
        cause = (str(defect).strip().splitlines() or [""])[0][:300]
        surfaces.answer(
            engine,
            surface,
            error=(
                f"Computing it failed with {type(defect).__name__}: {cause} The painter's log has"
                " the details."
            ),
        )
    else:
        surfaces.answer(engine, surface, arrays=arrays, facts=facts)
    finally:
        ended.set()
        pulse.join()


def _compute(
    context: Context, surface: Surface, told: Callable[[str, float], None]
) -> tuple[Any, dict[str, Any]]:
    # accelerators are for trainings
    os.environ.update(
        CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="2", KERAS_BACKEND="tensorflow"
    )
    if surfaces.PREDICTION in surface.options:
        return _predict(context, surface, told)
    wish = geometry.parse(surface.options)
    found = {
        run.id: run for run in queries.get_runs(context.engine, [surface.run_id, *surface.others])
    }
    if gone := [run_id for run_id in (surface.run_id, *surface.others) if run_id not in found]:
        raise LandscapeError(f"Run {gone[0]} was deleted meanwhile: ask again without it.")
    told("warming", 0.0)
    from ganboard.gan.landscape import compute as computing

    runs = [found[run_id] for run_id in (surface.run_id, *surface.others)]
    given = [(configs.parse(run.config), context.settings.run_dir(run.id)) for run in runs]
    return computing.compute(given, wish, context.settings.data, told)


def _predict(
    context: Context, request: Surface, told: Callable[[str, float], None]
) -> tuple[Any, dict[str, Any]]:
    from ganboard.gan.models.pix2pix import wish
    from ganboard.worker.requests import predictions

    began = time.monotonic()
    run = queries.find_run(context.engine, request.run_id)
    planned = predictions.plan(context, run, wish.parse(request.options[surfaces.PREDICTION]))
    told("warming", 0.0)
    found, png = predictions.compute(planned, lambda done, total: told("predicting", done / total))
    return {"png": np.frombuffer(png, np.uint8)}, {**found, "seconds": time.monotonic() - began}


class Surveyors:
    """Starts a surveyor when a request waits and none is at work."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._process: subprocess.Popen[bytes] | None = None

    def tend(self) -> None:
        """To be called again and again. Raises SQLAlchemyError."""
        if self._process is not None and self._process.poll() is None:
            return
        self._process = None
        if surfaces.waiting(self._context.engine):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ganboard.worker.requests.analysis"],
                env=environment_for_child(),
            )


def main() -> None:
    """Compute until nothing waits, or SIGTERM."""
    die_with_named_parent(signal.SIGTERM)
    os.nice(NICE)
    logs.configure()
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: sys.exit(0))
    context = open_context()
    while (surface := surfaces.claim(context.engine)) is not None:
        try:
            survey(context, surface)
        except Withdrawn:
            continue
        except SystemExit:
            surfaces.release(context.engine, surface)
            raise


if __name__ == "__main__":
    main()
