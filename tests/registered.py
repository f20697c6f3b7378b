"""Finished runs with a checkpoint on disk that no training has made."""

from __future__ import annotations

from typing import Any

from ganboard.db.models import Run
from ganboard.db.runs import checkpoint_reports, commands, queries
from ganboard.gan.checkpoint import reader
from ganboard.gan.config import RunConfig, parse
from ganboard.gan.training.step import Networks
from ganboard.worker.context import Context
from tests.stored import store

DCGAN = {
    "dataset": "digits",
    "latent_dim": 8,
    "grid_size": 2,
    "batch_size": 16,
    "quality_images": 200,
}
GAN3D = {"model": "gan3d", "dataset": "showers", "geometry": "25x25x25", "batch_size": 4}
PIX2PIX = {
    "model": "pix2pix",
    "dataset": "flow",
    "images_path": "street",
    "geometry": "64x64",
    "batch_size": 2,
}


def config(settings: dict[str, Any], **changes: Any) -> RunConfig:
    return parse({**settings, **changes})


def finished(
    context: Context,
    settings: RunConfig,
    *,
    status: str = "finished",
    epochs: tuple[int, ...] = (3,),
) -> tuple[Run, Networks]:
    """A run whose checkpoints hold fresh networks, and the networks of the newest."""
    run = commands.create_run(context.engine, name="a run", config=settings.model_dump(mode="json"))
    assert commands.claim(context.engine, run_id=run.id, worker="testbox-1") is not None
    own = {"run_id": run.id, "attempt": 1}
    directory = context.settings.run_dir(run.id) / "checkpoints"
    for epoch in epochs:
        nets = store(settings, directory, step=4 * epoch, epoch=epoch)
    for one in reader.found(directory):
        checkpoint_reports.add_checkpoint(
            context.engine,
            **own,
            step=one.step,
            epoch=one.epoch,
            digest=one.digest,
            size=one.size,
            keep=9,
        )
    commands.finish(
        context.engine, **own, status=status, error="It broke." if status == "failed" else None
    )
    return queries.find_run(context.engine, run.id), nets
