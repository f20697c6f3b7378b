"""Training loops and strategies beside each other and beside published times."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from ganboard.db.engine import writing
from ganboard.db.models import Run
from ganboard.worker.context import Context
from ganboard.worker.studies.results.claims import SEEDS
from ganboard.worker.studies.results.study_data import REPRODUCED, UNTESTED
from tests.factories import HARDWARE
from tests.unit.worker.studies.results.study_runs import GAN3D, IMAGES, MakeRun, made, study_run


@pytest.mark.thorough
def test_approaches_are_laid_beside_each_other_and_beside_theirs(
    context: Context, make_run: MakeRun
) -> None:
    for seed in range(SEEDS):
        for loop, seconds, two, processes in (
            ("custom", 10.0, 5.0, 8.0),
            ("fit", 11.0, 10.0, 22.0),
        ):
            study_run(make_run, 64, seconds, seed=seed, loop=loop, **GAN3D)
            study_run(make_run, 64, two, seed=seed, loop=loop, replicas=2, **GAN3D)
            study_run(
                make_run,
                64,
                processes,
                seed=seed,
                loop=loop,
                replicas=2,
                strategy="multi_worker",
                **GAN3D,
            )
    found = made(context, "approaches")
    assert (
        "Loop custom: 10 s an epoch on one replica, speed-up 2.00 on 2 (mirrored), 1.25 on 2"
        " (multi_worker)." in found.finding
    )
    assert (
        "Loop fit: 11 s an epoch on one replica, speed-up 1.10 on 2 (mirrored), 0.50 on 2"
        " (multi_worker)." in found.finding
    )
    assert found.verdict == UNTESTED  # the replicas share two cores
    table = found.table.set_index(["runs", "strategy", "replicas"])
    fit = table.loc[("loop fit", "multi_worker", 2)]
    assert fit[
        ["seconds_per_epoch", "speedup", "efficiency", "karp_flatt"]
    ].tolist() == pytest.approx([22.0, 0.5, 0.25, 3.0])
    assert fit["images_per_second"] == pytest.approx(IMAGES / 22.0)
    theirs = table.loc[("theirs: V100, over 2", "", 128)]
    assert theirs[["seconds_per_epoch", "speedup", "efficiency"]].tolist() == pytest.approx(
        [34.90, 51.13, 0.799], abs=0.01
    )
    with writing(context.engine) as session:
        session.execute(
            update(Run).values({"hardware": {**HARDWARE, "gpus": [{"name": "Test GPU"}] * 2}})
        )  # type: ignore[dict-item]
    assert made(context, "approaches").verdict == REPRODUCED
