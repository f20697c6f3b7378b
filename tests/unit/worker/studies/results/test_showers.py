"""The physics of generated showers."""

from __future__ import annotations

from ganboard.worker.context import Context
from tests.factories import validation
from tests.unit.worker.studies.results.study_runs import GAN3D, MakeRun, made, study_run


def test_physics_draws_the_best_run_and_lists_all(context: Context, make_run: MakeRun) -> None:
    for seed in (0, 1):
        study_run(
            make_run,
            16,
            10.0,
            seed=seed,
            quality_every=6,
            facts={"validation": validation(250)},
            **GAN3D,
        )
    found = made(context, "physics")
    assert found.table["seed"].tolist() == [0, 1]
    assert found.table["objective"].is_monotonic_decreasing
    assert "all runs, seed 1, after epoch 6" in found.finding
    assert "of 250 showers are empty" in found.finding
    assert found.figure is not None
    assert len(found.figure.data) == 18
