"""Versions of models as they are stored, without networks that would run."""

from __future__ import annotations

import numpy as np

from ganboard.db import versions
from ganboard.db.models import ModelVersion
from ganboard.gan.config import parse
from ganboard.gan.generation import package
from ganboard.gan.generation.package import Manifest
from ganboard.worker.context import Context
from tests.factories import png

QUANTIZED = {"percent_worse": 2.4, "psnr": 62.5, "fid": 4.3, "fid_full": 4.2}


def add_version(
    context: Context, parent: ModelVersion | None = None, run_id: str = "abcdefghjk"
) -> ModelVersion:
    """The next version of "digits": in int8 where it has a `parent`, else in float32."""
    version = ModelVersion(
        name="digits", model="dcgan", variant="int8" if parent else "float32",
        parent_id=parent and parent.id, run_id=run_id, attempt=1, epoch=3, step=12, digest="",
        size=0, version=0, quality=QUANTIZED if parent else {},
    )  # fmt: skip
    manifest = Manifest(
        **version.model_dump(
            include={
                "id", "name", "variant", "parent_id", "run_id", "attempt", "epoch", "step",
                "quality",
            }
        ),
        config=parse({"dataset": "digits"}).model_dump(mode="json"), signature={},
        checkpoint="c" * 64, data=None, versions={"keras": "3.15"}, commit=None,
    )  # fmt: skip
    folder = context.settings.model_dir(version.id)
    version.digest, version.size = package.write(folder, manifest, {"kernel": np.zeros(3)}, png(1))
    return versions.add(context.engine, version)
