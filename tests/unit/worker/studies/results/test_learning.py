"""Losses and quality against batch size, and the seconds that they take."""

from __future__ import annotations

from ganboard.gan.settings.features import FACT
from ganboard.worker.context import Context
from ganboard.worker.studies.results.study_data import REPRODUCED
from tests.unit.worker.studies.results.study_runs import MakeRun, made, seeded, study_run


def test_seconds_to_the_best_quality_that_all_reached(context: Context, make_run: MakeRun) -> None:
    for batch, seconds in ((64, 20.0), (512, 0.1)):
        seeded(make_run, batch, seconds, quality_every=1)
    found = made(context, "quality")
    assert found.verdict == REPRODUCED
    assert found.finding.startswith("To FID (classifier) ")
    assert "The fastest is batch 512." in found.finding
    assert set(found.table["batch_size"]) == {64, 512}
    assert (
        found.table.groupby("run_id")["fid"].min()
        <= float(found.finding.split()[3].rstrip(":")) * 1.01
    ).all()


def test_losses_and_what_they_reach(context: Context, make_run: MakeRun) -> None:
    for seed in (0, 1):
        for batch in (32, 64):
            study_run(make_run, batch, 10.0, seed=seed)
    for name in ("fig7", "fig8", "fig10"):
        found = made(context, name)
        assert found.figure is not None, name
        assert " at 32" in found.finding
        assert {32, 64} == set(found.table["batch_size"])
    best = made(context, "fig10").table
    assert (best.groupby("batch_size")["best"].diff().dropna() <= 0).all()


def test_quality_by_different_features_is_not_compared(context: Context, make_run: MakeRun) -> None:
    for batch, features in ((64, "encoder"), (512, "classifier")):
        facts = {FACT: f"{features} 3f2a9c0d11e2b7c4"}
        seeded(make_run, batch, 1.0, quality_every=1, facts=facts)
    found = made(context, "quality")
    assert found.figure is None
    assert found.verdict != REPRODUCED
    assert "FID by encoder features and FID by classifier features cannot be" in found.finding
