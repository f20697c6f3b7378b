"""`ganboard inference-worker`: generates what the playground asks of stored generators, since the
web process has no TensorFlow, and starts the analysis worker (worker/requests/analysis.py) when a
loss surface, a prediction or an evaluation is requested.

Requests are rows of the database (db/requests.py); Redis only notifies, and without it the database
is polled once a second. TensorFlow enters with the first request and leaves, with all the memory it
took, when nobody has asked for a while: the process then executes itself anew.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

from cachetools import LRUCache
from sqlalchemy.exc import SQLAlchemyError

from ganboard.db import heartbeats, requests
from ganboard.db.models import INFERENCE, Request
from ganboard.db.runs import queries
from ganboard.gan import config as configs
from ganboard.gan import data
from ganboard.gan.config import RunConfig
from ganboard.gan.data import catalog
from ganboard.gan.data.dataset import DatasetError, Images
from ganboard.gan.generation import latent_requests, nearest
from ganboard.worker import logs
from ganboard.worker.artifacts import picture_caches, transfers
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import health
from ganboard.worker.process.parent_death import die_with_named_parent
from ganboard.worker.requests import loop
from ganboard.worker.requests.analysis import AnalysisWorker
from ganboard.worker.requests.loop import OnProgress
from ganboard.worker.requests.notify import Notifications

log = logging.getLogger("ganboard.inference_worker")

POLL_SECONDS = 1.0
HEARTBEAT_SECONDS = 3.0
PRUNE_SECONDS = 60.0
IDLE_SECONDS = 900.0  # then the memory is given back
GENERATORS = 3  # kept in memory


class InferenceWorker:
    """Computes one request at a time. `warm` once TensorFlow is loaded."""

    def __init__(self) -> None:
        self._generators: LRUCache[tuple[str, int], Any] = LRUCache(GENERATORS)
        self._images: tuple[dict[str, Any], Images, float | None] | None = None
        self.warm = False

    def compute(
        self, context: Context, request: Request, on_progress: OnProgress
    ) -> tuple[bytes, dict[str, Any]]:
        """The sheet of images (PNG) and its facts. Raises errors in one sentence, and Withdrawn."""
        asked = latent_requests.parse(request.kind, request.options)
        run = queries.get_run(context.engine, request.run_id)
        if run is None:
            raise latent_requests.InvalidRequest("The run has been deleted.")
        config = configs.parse(run.config)
        if not self.warm:
            on_progress("warming", 0.0)
        from ganboard.gan.generation import paint
        from ganboard.gan.modeling import samples

        self.warm = True
        generator = self._generator(context, config, request, on_progress)
        images = paint.draw(generator, config, asked)
        if isinstance(asked, latent_requests.Nearest):
            return self._beside_nearest(context, config, images, on_progress)
        facts = {"columns": asked.columns, "images": len(images)}
        return samples.png(images, asked.columns), facts

    def _generator(
        self, context: Context, config: RunConfig, request: Request, on_progress: OnProgress
    ) -> Any:
        from ganboard.gan.generation import paint

        assert request.step is not None
        key = request.run_id, request.step
        if key not in self._generators:
            on_progress("restoring", 0.0)
            directory = transfers.ensure(context, request.run_id, request.step)
            self._generators[key] = paint.restore(config, directory, request.step)
        return self._generators[key]

    def _beside_nearest(
        self, context: Context, config: RunConfig, images: Any, on_progress: OnProgress
    ) -> tuple[bytes, dict[str, Any]]:
        """Every image, then the training images nearest to it; distances as
        `gan.generation.nearest` has them."""
        import numpy as np

        from ganboard.gan.modeling import samples

        images_of_run, spacing = self._training_images(context, config, on_progress)
        on_progress("searching", 0.0)
        found, distances = nearest.nearest(images, images_of_run, latent_requests.NEIGHBOURS)
        # pictures on disk take one row of positions
        beside = images_of_run[found.ravel()].astype(np.float32) / 127.5 - 1
        beside = beside.reshape(*found.shape, *images.shape[1:])
        sheet = np.concatenate([images[:, None], beside], axis=1)
        return samples.png(sheet.reshape(-1, *images.shape[1:]), sheet.shape[1]), {
            "columns": sheet.shape[1],
            "images": sheet.shape[0] * sheet.shape[1],
            "distances": distances.round(4).tolist(),
            "spacing": spacing,
            "searched": len(images_of_run),
        }

    def _training_images(
        self, context: Context, config: RunConfig, on_progress: OnProgress
    ) -> tuple[Images, float | None]:
        """The images that the run was trained on, the first MAX_SEARCHED of them, and how far they
        lie apart; those of the last request are kept."""
        limit = min(config.limit or nearest.MAX_SEARCHED, nearest.MAX_SEARCHED)
        key = {**catalog.data_settings(config), "limit": limit}
        if self._images is None or self._images[0] != key:
            on_progress("loading", 0.0)
            folder = context.settings.data
            # a request is no reason to download
            if absent := catalog.available(folder)[config.dataset]:
                raise DatasetError(absent)
            picture_caches.offer(context)
            images = data.load(config.model_copy(update={"limit": limit}), folder).images
            self._images = key, images, nearest.spacing(images)
        return self._images[1:]


class Heartbeat(threading.Thread):
    """The heartbeats of the process, from a thread of their own, since loading TensorFlow takes
    longer than the time between them."""

    def __init__(self, context: Context, worker: InferenceWorker) -> None:
        super().__init__(daemon=True)
        self._context = context
        self._worker = worker
        self._name = f"{socket.gethostname()}:inference:{os.getpid()}"
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            health.touch(self._context.settings)
            with contextlib.suppress(SQLAlchemyError):  # the main loop says so
                heartbeats.record(
                    self._context.engine,
                    name=self._name,
                    kind=INFERENCE,
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    run_id=None,
                    devices={"warm": self._worker.warm},
                )
            self._ended.wait(HEARTBEAT_SECONDS)

    def end(self) -> None:
        self._ended.set()
        self.join()
        with contextlib.suppress(SQLAlchemyError):
            heartbeats.forget(self._context.engine, name=self._name)


def serve(context: Context, worker: InferenceWorker) -> None:
    """Serve requests until none arrive for IDLE_SECONDS."""
    analysis = AnalysisWorker(context)
    notifications = Notifications(context)
    used_at = time.monotonic()
    prune_at = 0.0
    while not (worker.warm and time.monotonic() - used_at > IDLE_SECONDS):
        try:
            if time.monotonic() >= prune_at:
                prune_at = time.monotonic() + PRUNE_SECONDS
                requests.prune(context.engine, requests.IMAGES)
            analysis.ensure()
            answered = loop.answer_next(context, requests.IMAGES, worker.compute)
        except SQLAlchemyError as error:
            log.warning("The database is unavailable: %s", str(error).splitlines()[0])
            time.sleep(POLL_SECONDS)
            continue
        if answered:
            used_at = time.monotonic()
        else:
            notifications.wait(POLL_SECONDS)


def main() -> None:
    """`ganboard inference-worker`: answer until SIGTERM or Ctrl-C."""
    die_with_named_parent()
    logs.configure()
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: sys.exit(0))
    try:
        context = open_context()
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    worker = InferenceWorker()
    heartbeat = Heartbeat(context, worker)
    heartbeat.start()
    try:
        serve(context, worker)
    except SystemExit:
        heartbeat.end()
        raise
    log.info("No requests for %.0f s; releasing memory.", IDLE_SECONDS)
    # keeps the process and its tie to the parent
    command = [sys.executable, "-m", "ganboard.worker.requests.inference_worker"]
    os.execv(sys.executable, command)  # noqa: S606


if __name__ == "__main__":
    main()
