"""`ganboard painter`: draws what the playground asks of stored generators, since the web process
has no TensorFlow, and starts a surveyor (worker/requests/analysis.py) when a loss surface or a
prediction is asked for.

Requests are rows of the database (db/drawings.py); Redis only rings, and without it the painter
looks once a second. TensorFlow enters with the first request and leaves, with all the memory it
took, when nobody has asked for a while: the process then becomes itself anew.
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
from collections import OrderedDict
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from ganboard.db import drawings
from ganboard.db.models import Drawing
from ganboard.db.runs import commands, queries
from ganboard.gan import config as configs
from ganboard.gan import data
from ganboard.gan.config import RunConfig
from ganboard.gan.data import catalog
from ganboard.gan.data.dataset import DatasetError, Images
from ganboard.gan.generation import latent_requests, nearest
from ganboard.worker import logs
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import health
from ganboard.worker.process.parent_death import die_with_named_parent
from ganboard.worker.requests.analysis import Surveyors
from ganboard.worker.requests.notify import Bell

log = logging.getLogger("ganboard.painter")

LOOK_SECONDS = 1.0
BEAT_SECONDS = 3.0
PRUNE_SECONDS = 60.0
IDLE_SECONDS = 900.0  # then the memory is given back
GENERATORS = 3  # kept in memory


class Painter:
    """Answers one request at a time. `warm` once TensorFlow is loaded."""

    def __init__(self, context: Context) -> None:
        self._context = context
        # the one used last stands last
        self._generators: OrderedDict[tuple[str, int], Any] = OrderedDict()
        self._images: tuple[tuple[Any, ...], Images, float | None] | None = None
        self.warm = False

    def answer(self, drawing: Drawing) -> None:
        """Draw a claimed request, or say in one sentence why it cannot be drawn. Only errors of the
        database itself are raised."""
        engine, began = self._context.engine, time.monotonic()
        try:
            if drawing.facts["tries"] > drawings.MAX_TRIES:
                raise latent_requests.WishError(
                    f"The painter ended {drawings.MAX_TRIES} times over this drawing: its log may"
                    " say why."
                )
            png, facts = self._draw(drawing)
        except SQLAlchemyError:
            raise
        except CLEAR_ERRORS as clear:
            drawings.answer(engine, drawing, error=str(clear))
        # the last line of defence: a person waits, and the log keeps the rest
        except Exception as defect:
            log.exception("Drawing %s failed", drawing.id)
            cause = (str(defect).strip().splitlines() or [""])[0][:300]
            drawings.answer(
                engine,
                drawing,
                error=(
                    f"The painter failed with {type(defect).__name__}: {cause} Its log has the"
                    " details."
                ),
            )
        else:
            drawings.answer(
                engine, drawing, png=png, facts={**facts, "seconds": time.monotonic() - began}
            )

    def _draw(self, drawing: Drawing) -> tuple[bytes, dict[str, Any]]:
        wish = latent_requests.parse(drawing.kind, drawing.options)
        run = queries.get_run(self._context.engine, drawing.run_id)
        if run is None:
            raise latent_requests.WishError("The run was deleted meanwhile.")
        config = configs.parse(run.config)
        if not self.warm:
            drawings.say(self._context.engine, drawing, "warming")
        from ganboard.gan.generation import paint
        from ganboard.gan.modeling import samples

        self.warm = True
        generator = self._generator(config, drawing)
        images = paint.draw(generator, config, wish)
        if not isinstance(wish, latent_requests.Nearest):
            return samples.png(images, wish.columns), {
                "columns": wish.columns,
                "images": len(images),
            }
        return self._beside_nearest(config, drawing, images)

    def _generator(self, config: RunConfig, drawing: Drawing) -> Any:
        from ganboard.gan.generation import paint

        key = drawing.run_id, drawing.step
        if key not in self._generators:
            drawings.say(self._context.engine, drawing, "restoring")
            directory = self._context.settings.run_dir(drawing.run_id) / "checkpoints"
            self._generators[key] = paint.restore(config, directory, drawing.step)
        self._generators.move_to_end(key)
        while len(self._generators) > GENERATORS:
            self._generators.popitem(last=False)
        return self._generators[key]

    def _beside_nearest(
        self, config: RunConfig, drawing: Drawing, images: Any
    ) -> tuple[bytes, dict[str, Any]]:
        """Every image, then the training images nearest to it; distances as
        `gan.generation.nearest` has them."""
        import numpy as np

        from ganboard.gan.modeling import samples

        images_of_run = self._training_images(config, drawing)
        drawings.say(self._context.engine, drawing, "searching")
        found, distances = nearest.nearest(images, images_of_run, latent_requests.NEIGHBOURS)
        beside = images_of_run[found].astype(np.float32) / 127.5 - 1
        sheet = np.concatenate([images[:, None], beside], axis=1)
        assert self._images is not None
        return samples.png(sheet.reshape(-1, *images.shape[1:]), sheet.shape[1]), {
            "columns": sheet.shape[1],
            "images": sheet.shape[0] * sheet.shape[1],
            "distances": distances.round(4).tolist(),
            "spacing": self._images[2],
            "searched": len(images_of_run),
        }

    def _training_images(self, config: RunConfig, drawing: Drawing) -> Images:
        """The images that the run was trained on, the first MAX_SEARCHED of them; those asked for
        last are kept."""
        limit = min(config.limit or nearest.MAX_SEARCHED, nearest.MAX_SEARCHED)
        key = config.dataset, config.images_path, config.skip_unreadable, limit
        if self._images is None or self._images[0] != key:
            drawings.say(self._context.engine, drawing, "loading")
            folder = self._context.settings.data
            # a drawing is no reason to download
            if absent := catalog.available(folder)[config.dataset]:
                raise DatasetError(absent)
            images = data.load(config.model_copy(update={"limit": limit}), folder).images
            self._images = key, images, nearest.spacing(images)
        return self._images[1]


class Pulse(threading.Thread):
    """The signs of life, from a thread of their own, since loading TensorFlow takes longer than the
    time between them."""

    def __init__(self, context: Context, painter: Painter) -> None:
        super().__init__(daemon=True)
        self._context, self._painter = context, painter
        self.name_in_database = f"{socket.gethostname()}{queries.PAINTER}{os.getpid()}"
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(SQLAlchemyError):  # the main loop says so
                self._beat()
            self._ended.wait(BEAT_SECONDS)

    def _beat(self) -> None:
        health.beat(self._context.settings)
        devices = {"warm": self._painter.warm}
        name, host = self.name_in_database, socket.gethostname()
        commands.beat(
            self._context.engine,
            name=name,
            host=host,
            pid=os.getpid(),
            run_id=None,
            devices=devices,
        )

    def end(self) -> None:
        self._ended.set()
        self.join()
        with contextlib.suppress(SQLAlchemyError):
            commands.forget_worker(self._context.engine, name=self.name_in_database)


def serve(context: Context, painter: Painter) -> None:
    """Answer until nobody has asked a warm painter for IDLE_SECONDS."""
    bell, asked_at, prune_at, surveyors = Bell(context), time.monotonic(), 0.0, Surveyors(context)
    while not (painter.warm and time.monotonic() - asked_at > IDLE_SECONDS):
        drawing: Drawing | None = None
        try:
            if time.monotonic() >= prune_at:
                prune_at = time.monotonic() + PRUNE_SECONDS
                drawings.prune(context.engine)
            surveyors.tend()
            drawing = drawings.claim(context.engine)
            if drawing is not None:
                painter.answer(drawing)
                asked_at = time.monotonic()
        except SQLAlchemyError as error:
            log.warning("The database does not answer: %s", str(error).splitlines()[0])
            time.sleep(LOOK_SECONDS)
            continue
        except SystemExit:
            if drawing is not None:
                with contextlib.suppress(SQLAlchemyError):
                    drawings.release(context.engine, drawing)
            raise
        if drawing is None:
            bell.wait(LOOK_SECONDS)


def main() -> None:
    """`ganboard painter`: draw until SIGTERM or Ctrl-C."""
    die_with_named_parent()
    logs.configure()
    # accelerators belong to the trainings: a GPU would give up memory for what a CPU does in
    # milliseconds
    os.environ.update(
        CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="2", KERAS_BACKEND="tensorflow"
    )
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: sys.exit(0))
    try:
        context = open_context()
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    painter = Painter(context)
    pulse = Pulse(context, painter)
    pulse.start()
    try:
        serve(context, painter)
    except SystemExit:
        pulse.end()
        raise
    log.info("Nobody has asked for %.0f s: giving the memory back.", IDLE_SECONDS)
    os.execv(sys.executable, [sys.executable, "-m", "ganboard.worker.requests.inference_worker"])  # noqa: S606  # keeps the process and its tie to the parent


if __name__ == "__main__":
    main()
