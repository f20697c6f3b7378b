"""A stored, untrained pix2pix run and flows for it."""

from __future__ import annotations

from collections.abc import Callable

from ganboard.db.models import Run
from ganboard.gan.checkpoint import store
from ganboard.gan.config import parse
from ganboard.gan.models.pix2pix import networks
from ganboard.gan.models.pix2pix.flow import frames
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording
from ganboard.gan.progress import Progress
from ganboard.worker.context import Context

SETTINGS = {
    "model": "pix2pix",
    "dataset": "flow",
    "images_path": "street",
    "geometry": "64x64",
    "limit": None,
}


def make_street(context: Context, make_run: Callable[..., Run]) -> Run:
    """A finished run with a checkpoint of step 12, and two flows of four frames, 64x64 cells, the
    second held out."""
    cases = (Case(Obstacle("circle", 6), 60), Case(Obstacle("rectangle", 6), 60, held_out=True))
    frames.write(
        context.settings.data / "street", Recording(cases, (64, 64), frames=4, discard=20, every=5)
    )
    found = make_run("a street", **SETTINGS)
    config = parse(found.config)
    arrays = {
        f"generator/{variable.path}": variable.numpy()
        for variable in networks.generator(config, 4, 3).variables
    }
    store.save(
        context.settings.run_dir(found.id) / "checkpoints",
        arrays,
        Progress(12, 3),
        digest="",
        attempt=1,
    )
    return found
