"""Quality in words: only what was measured, and a rank only among enough versions that were
measured alike."""

from __future__ import annotations

import numpy as np

from ganboard.db import versions
from ganboard.db.models import ModelVersion
from ganboard.db.runs import evaluations
from ganboard.gan.generation import package
from ganboard.gan.generation.package import Manifest
from ganboard.worker.context import Context
from ganboard.worker.registry import standing
from tests.registered import DCGAN, config, finished

DATA = "d" * 64


def register(context: Context, fid: float | None, data: str | None = DATA, **own: str) -> None:
    quality = {} if fid is None else {"fid": fid}
    version = ModelVersion(
        name="digits", model="dcgan", variant="float32", run_id=own.get("run_id", "abcdefghjk"),
        attempt=1, epoch=3, step=12, digest="", size=0, version=0, quality=quality,
    )  # fmt: skip
    named = {"id", "name", "variant", "parent_id", "run_id", "attempt", "epoch", "step", "quality"}
    manifest = Manifest(
        **version.model_dump(include=named), config=config(DCGAN).model_dump(mode="json"),
        signature={}, checkpoint="c" * 64, data=data, versions={}, commit=None,
    )  # fmt: skip
    folder = context.settings.model_dir(version.id)
    version.digest, version.size = package.write(folder, manifest, {"kernel": np.zeros(3)})
    versions.add(context.engine, version)


def said(context: Context) -> dict[int, standing.Standing]:
    found = versions.listed(context.engine)
    by_id = standing.standings(context, found)
    return {one.version: by_id[one.id] for one in found}


def test_a_rank_needs_enough_others_that_were_measured_alike(context: Context) -> None:
    for fid in (6.3, 8.0, 9.0):
        register(context, fid)
    assert said(context)[1].short == "FID (classifier) 6.30"
    assert "Only 2 other versions were measured alike" in said(context)[1].sentences
    register(context, 5.0)
    register(context, 1.0, data="e" * 64)  # of other data
    register(context, 1.0, data=None)
    found = said(context)
    assert found[1].short == "FID (classifier) 6.30, better than 2 of 3 others"
    assert found[4].short == "FID (classifier) 5.00, the best of 4"
    assert found[1].sentences == (
        "FID (classifier) after epoch 3 on digits, from up to 200 generated and as many real"
        " images. It is better than 2 of the 3 other versions that were measured alike."
    )
    assert "No other version was measured alike" in found[5].sentences
    assert "No other version was measured alike" in found[6].sentences


def test_a_share_needs_ten_others(context: Context) -> None:
    for place in range(11):
        register(context, 2.0 + place)
    assert said(context)[3].short == "FID (classifier) 4.00, better than 80 % of 10 others"


def test_a_version_without_an_evaluation_takes_that_of_its_run(context: Context) -> None:
    run, _ = finished(context, config(DCGAN))
    register(context, None, run_id=run.id)
    assert said(context)[1].short == "not evaluated"
    assert evaluations.add(
        context.engine,
        run_id=run.id,
        attempt=run.attempt,
        epoch=3,
        seconds=1.0,
        preparation_seconds=2.0,
        training_seconds=6.0,
        measures={"fid": 7.5},
        histogram=[],
        facts={},
    )
    assert said(context)[1].short == "FID (classifier) 7.50"
