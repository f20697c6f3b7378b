"""Evaluations of stored checkpoints: the bits of those of training, stored beside them, and
refusals in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ganboard.db import requests
from ganboard.db.engine import writing
from ganboard.db.models import Request, Run
from ganboard.db.runs import checkpoint_reports, evaluations, queries
from ganboard.db.runs.imports import IMPORTED
from ganboard.gan.checkpoint import store
from ganboard.gan.config import RunConfig
from ganboard.gan.events import Found
from ganboard.gan.models.pix2pix.flow import frames
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording
from ganboard.gan.progress import Progress
from ganboard.worker.context import Context
from ganboard.worker.requests import analysis, evaluation, loop
from tests.cli import document
from tests.factories import lose_model
from tests.scripts import script_run

MakeRun = Callable[..., Run]
SETTINGS: dict[str, object] = {
    "dataset": "digits",
    "grid_size": 4,
    "epochs": 2,
    "limit": 32,
    "batch_size": 16,
    "quality_images": 200,
    "keep_checkpoints": 2,
}


def trained(**changes: object) -> str:
    """The id of a run that was trained here."""
    settings = {**SETTINGS, **changes}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return str(document("train", *words)["id"])


def answered(context: Context, run_id: str) -> Request:
    asked = requests.ask(context.engine, requests.EVALUATION, [run_id], {})
    request = requests.claim(context.engine, requests.EVALUATIONS, asked)
    assert request is not None
    loop.answer(context, request, analysis.compute)
    stored = requests.find(context.engine, asked)
    assert stored is not None
    assert stored.answered_at is not None
    return stored


def results(context: Context, run_id: str) -> dict[int, tuple[dict[str, str], list[float]]]:
    """Metrics, with all bits, and class shares of each evaluated epoch."""
    return {
        one.epoch: (
            {name: value.hex() for name, value in one.measures.items()},
            one.histogram.tolist(),
        )
        for one in queries.qualities(context.engine, run_id)
    }


def keep(context: Context, run: Run, *steps: int) -> None:
    """Checkpoints of these steps on disk, of four steps per epoch; their networks are none."""
    for step in steps:
        store.save(
            context.settings.run_dir(run.id) / "checkpoints",
            {"x": np.zeros(1, np.float32)},
            Progress(step, step // 4),
            digest="",
            attempt=1,
        )


def refusal(context: Context, run: Run) -> str:
    """The one sentence that answers a request."""
    error = answered(context, run.id).error
    assert error is not None
    assert queries.qualities(context.engine, run.id) == []
    return error


def change(context: Context, run_id: str, **columns: object) -> None:
    with writing(context.engine) as session:
        session.get_one(Run, run_id).sqlmodel_update(columns)


def facts(context: Context, run_id: str) -> dict[str, Any]:
    names = ("quality_features", "class_shares", "classifier_accuracy", "validation")
    found = queries.find_run(context.engine, run_id).facts
    return {name: found[name] for name in names if name in found}


CASES: dict[str, dict[str, object]] = {
    "plain": {},
    "ema and bfloat16": {"ema": 0.9, "precision": "mixed_bfloat16"},
    "encoder": {"quality_features": "encoder"},
    "labels": {"model": "cdcgan"},
    "flow": {
        "model": "pix2pix",
        "dataset": "flow",
        "images_path": "street",
        "geometry": "64x64",
        "batch_size": 4,
    },
    "showers": {
        "model": "gan3d",
        "dataset": "showers",
        "geometry": "25x25x25",
        "batch_size": 8,
        "epochs": 1,
    },
}
QUICK = ("plain", "ema and bfloat16")
SLOW = [pytest.mark.thorough, pytest.mark.slow]


@pytest.mark.parametrize(
    "name",
    [
        name
        if name in QUICK
        else pytest.param(name, marks=[pytest.mark.thorough, pytest.mark.slow])
        for name in CASES
    ],
)
def test_the_bits_are_those_of_training(context: Context, name: str) -> None:
    changes = CASES[name]
    if name == "flow":
        cases = (Case(Obstacle("circle", 6), 60), Case(Obstacle("rectangle", 6), 60, held_out=True))
        street = Recording(cases, (64, 64), frames=9, discard=20, every=5)
        frames.write(context.settings.data / "street", street)
    during, without = trained(quality_every=1, **changes), trained(**changes)
    assert results(context, without) == {}
    found = answered(context, without)
    assert found.error is None
    assert found.facts["epochs"] == list(results(context, during))
    assert results(context, without) == results(context, during)
    assert facts(context, without) == facts(context, during)
    events = len(queries.events(context.engine, without))
    assert answered(context, without).facts["epochs"] == []
    assert len(queries.events(context.engine, without)) == events


def test_other_data_and_other_features_are_refused(context: Context) -> None:
    run_id = trained()
    change(context, run_id, examples=31)
    assert "it was trained on 31 examples and there are 32" in (
        answered(context, run_id).error or ""
    )
    change(context, run_id, examples=32)
    evaluations.add(
        context.engine,
        run_id=run_id,
        attempt=1,
        epoch=1,
        seconds=1.0,
        preparation_seconds=0.0,
        training_seconds=1.0,
        measures={"fid": 1.0},
        histogram=[],
        facts={"quality_features": "encoder 0123456789abcdef"},
    )
    assert "was evaluated by other features before. Quality by encoder features and" in (
        answered(context, run_id).error or ""
    )
    assert list(results(context, run_id)) == [1]


def test_what_cannot_be_evaluated_is_said_in_a_sentence(
    context: Context, make_run: MakeRun
) -> None:
    assert "is trained by a script" in refusal(context, script_run(context))
    gone = make_run("gone")
    lose_model(context, gone)
    assert "model=gone of this run is not here" in refusal(context, gone)
    begun = make_run("begun", status="running", epochs=0)
    assert "has not finished an epoch yet" in refusal(context, begun)
    assert "no longer exist. Train a clone with quality_every=3" in refusal(context, make_run("c"))
    within = make_run("within")
    keep(context, within, 6)
    assert "lie within epochs (the latest after step 6)" in refusal(context, within)
    training = make_run("training", status="running", quality_every=5)
    assert "is training and is evaluated every 5 epochs" in refusal(context, training)
    imported = make_run("imported", facts={IMPORTED: {"at": "now"}})
    assert "was imported, and its checkpoints are on another machine" in refusal(context, imported)
    absent = make_run("absent", dataset="fashion_mnist")
    keep(context, absent, 12)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GANBOARD_DATA_DIR", str(context.settings.state / "empty"))
        assert "fashion_mnist is not in" in refusal(context, absent)


def test_checkpoints_of_another_machine_are_named(context: Context, make_run: MakeRun) -> None:
    run = make_run("elsewhere", status="running")
    checkpoint_reports.add_checkpoint(
        context.engine,
        run_id=run.id,
        attempt=1,
        step=12,
        epoch=3,
        digest="0" * 64,
        size=1,
        keep=9,
        machine="box-7f",
    )
    assert "The checkpoints of run" in (text := refusal(context, run))
    assert "are on machine box-7f" in text


def test_an_evaluated_run_is_left_as_it_is(context: Context, make_run: MakeRun) -> None:
    run = make_run("evaluated", quality_every=1)
    keep(context, run, 8, 12)
    before = results(context, run.id)
    events = len(queries.events(context.engine, run.id))
    found = answered(context, run.id)
    assert (found.error, found.facts["epochs"]) == (None, [])
    assert results(context, run.id) == before
    assert len(queries.events(context.engine, run.id)) == events


def test_the_process_must_compute_as_the_trainer_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", sys)
    monkeypatch.delenv("TF_XLA_FLAGS", raising=False)
    assert (evaluation.fits(False), evaluation.fits(True)) == (True, False)
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit")
    assert (evaluation.fits(False), evaluation.fits(True)) == (False, True)
    monkeypatch.delitem(sys.modules, "tensorflow")
    assert evaluation.fits(False)
    assert evaluation.fits(True)


def test_a_process_that_does_not_fit_gives_its_claim_back(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run("compiled", xla=True)
    asked = requests.ask(context.engine, requests.EVALUATION, [run.id], {})
    monkeypatch.setattr(evaluation, "fits", lambda xla: not xla)
    with pytest.raises(SystemExit):
        loop.answer_next(context, requests.EVALUATIONS, analysis._compute_here)
    request = requests.claim(context.engine, requests.EVALUATIONS, asked)
    assert request is not None
    assert request.tries == 1


@pytest.mark.parametrize(("status", "chosen"), [("stopped", [4, 8, 12]), ("running", [12])])
def test_of_a_run_that_trains_only_the_latest_checkpoint_is_evaluated(
    context: Context,
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    chosen: list[int],
) -> None:
    seen: list[int] = []

    def evaluate(config: RunConfig, choose: Callable[[], list[Found]], **_: object) -> list[object]:
        seen.extend(found.step for found in choose())
        return []

    monkeypatch.setattr("ganboard.gan.generation.evaluation.evaluate", evaluate)
    run = make_run("several", status=status)
    keep(context, run, 4, 8, 10, 12, 13)
    assert answered(context, run.id).error is None
    assert seen == chosen
