"""The results of a study as a whole: which are made, and what they say of runs that are lacking,
diverged or imported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sqlalchemy import update
from sqlmodel import col

from ganboard.db.engine import writing
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries, reports
from ganboard.db.runs.imports import IMPORTED
from ganboard.worker.context import Context
from ganboard.worker.studies import results
from ganboard.worker.studies.results.claims import NEEDS
from ganboard.worker.studies.results.study_data import TOO_LITTLE, UNTESTED, StudyData
from ganboard.worker.submission import sweep
from tests.unit.db.stored_runs import in_status
from tests.unit.worker.studies.results.study_runs import (
    IMAGES,
    PIX2PIX,
    MakeRun,
    data,
    made,
    study_run,
)


@pytest.mark.parametrize("name", results.MAKERS)
def test_without_runs_each_says_what_it_needs(context: Context, name: str) -> None:
    in_status(context.engine, "failed")
    found = made(context, name)
    claimed = name in NEEDS and NEEDS[name].model == "dcgan"
    assert (found.verdict, found.figure, len(found.table)) == (
        TOO_LITTLE if claimed else UNTESTED,
        None,
        0,
    )
    assert "Finished so far: 0 (1 failed)." in found.finding


def test_a_study_of_another_setting_is_laid_out_by_that(
    context: Context, make_run: MakeRun
) -> None:
    for beta in (0.5, 0.9):
        study_run(make_run, 64, 10.0, beta_1=beta)
    asked = {"parts": [{"vary": {"beta_1": [0.5, 0.9]}}]}
    found = {
        one.key: one
        for one in results.make(
            StudyData.of(context.engine, queries.list_runs(context.engine), asked),
            list(results.MAKERS),
        )
    }
    for name in ("fig6", "fig7", "fig10"):
        assert found[name].verdict == UNTESTED
        assert " at 0.5" in found[name].finding
        assert found[name].figure is not None
        assert set(found[name].table["beta_1"]) == {0.5, 0.9}
    assert "differ only in batch size" in found["fig5"].finding


def test_what_is_there_for_one_model_alone(context: Context, make_run: MakeRun) -> None:
    for batch in (8, 16):
        study_run(make_run, batch, 10.0, quality_every=1, **PIX2PIX)
    found = {one.key: one for one in results.make(data(context), list(results.MAKERS))}
    assert not {"table1", "fig11", "physics"} & found.keys()
    for name in ("fig5", "fig6", "fig7", "quality"):
        assert found[name].verdict == UNTESTED
        assert "Claimed for a DCGAN" in found[name].claim
        assert found[name].figure is not None
    assert "To L1 " in found["quality"].finding
    assert "l1" in found["quality"].table


def test_runs_that_diverged_break_no_figure(context: Context, make_run: MakeRun) -> None:
    for batch in (32, 64):
        study_run(make_run, batch, 10.0)
        run = make_run(
            f"diverged {batch}",
            status="running",
            epochs=1,
            steps_per_epoch=IMAGES // batch,
            batch_size=batch,
            dataset="mnist",
            limit=IMAGES,
        )
        own: dict[str, Any] = {"run_id": run.id, "attempt": run.attempt}
        for epoch in range(2, run.config["epochs"] + 1):
            losses = np.full(IMAGES // batch, np.nan, np.float32)
            reports.append_steps(
                context.engine, **own, epoch=epoch, first=0, g_losses=losses, d_losses=losses
            )
            measures = {
                "steps": IMAGES // batch,
                "images": IMAGES,
                "g_loss": np.nan,
                "d_loss": np.inf,
                "seconds": 1.0,
                "compile_seconds": 0.0,
            }
            reports.finish_epoch(
                context.engine,
                **own,
                epoch=epoch,
                **measures,
                g_path=(np.nan, 0.0),
                d_path=(0.0, 0.0),
            )
        commands.finish(context.engine, **own, status="finished")
    for one in results.make(data(context), list(results.MAKERS)):
        assert one.finding
        assert "Traceback" not in one.finding


def test_imported_runs_of_other_machines_join_and_stay_apart(
    context: Context, make_run: MakeRun
) -> None:
    for xla, seconds in ((False, 10.0), (True, 11.0)):
        study_run(make_run, 32, seconds, xla=xla)
    own = queries.list_runs(context.engine)
    gpu = {"gpus": [{"name": "Test GPU"}], "host": "server"}
    for xla, seconds in ((False, 1.15), (True, 1.0)):
        run = study_run(make_run, 32, seconds, xla=xla)
        with writing(context.engine) as session:
            values = {
                "facts": {**run.facts, IMPORTED: "2026-11-21"},
                "hardware": {**run.hardware, **gpu},
            }  # type: ignore[dict-item]
            session.execute(update(Run).where(col(Run.id) == run.id).values(values))
    found = {
        one.key: one for one in results.make(StudyData.of(context.engine, own), ["fig12", "fig13"])
    }
    assert found["fig12"].table["speedup"].to_numpy() == pytest.approx([10 / 11, 1.15])
    assert [
        ("Test GPU" in label, "Test CPU" in label) for label in found["fig12"].table["runs"]
    ] == [(False, True), (True, False)]
    assert found["fig13"].table["device"].tolist() == [
        "CPU, float32, 1 replica (Test CPU @ 2.00 GHz, 2 cores)",
        "GPU, float32, 1 replica (Test GPU)",
    ]
    assert found["fig13"].table["times_as_fast"].to_numpy() == pytest.approx([1.0, 10 / 1.15])
    # a study here is not made of another machine's times
    assert len(sweep.finished_runs(context)) == 2
