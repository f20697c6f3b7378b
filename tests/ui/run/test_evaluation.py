"""The button Evaluate on a run's page and in the list of runs: when it is there, what it asks for,
and what it says meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ganboard.db import requests
from ganboard.db.models import INFERENCE, Request, Run
from ganboard.db.runs import evaluations, queries
from ganboard.db.runs.imports import IMPORTED
from ganboard.worker.context import Context
from tests.factories import lose_model, make_worker
from tests.ui.pages import button, checked, open_page, select_runs, words

MakeRun = Callable[..., Run]


def asked(context: Context, run: Run) -> Request | None:
    return requests.newest_evaluations(context.engine, [run.id]).get(run.id)


def claim(context: Context) -> Request:
    request = requests.claim(context.engine, requests.EVALUATIONS)
    assert request is not None
    return request


def store(context: Context, run: Run, epoch: int, **facts: Any) -> None:
    assert evaluations.add(
        context.engine,
        run_id=run.id,
        attempt=run.attempt,
        epoch=epoch,
        seconds=1.0,
        preparation_seconds=2.0,
        training_seconds=6.0,
        measures={"fid": 7.5},
        histogram=[],
        facts=facts,
    )


def labels(page: Any) -> list[str]:
    return [one.label for one in page.button]


def test_a_run_is_evaluated_from_its_tab(context: Context, make_run: MakeRun) -> None:
    run = make_run("without")
    make_worker(context, "inference", kind=INFERENCE)
    at = open_page("run", run=run.id, view="Quality")
    assert "Epoch 3 is stored as a checkpoint and not evaluated." in words(at)
    at = checked(button(at, "Evaluate").click().run())
    assert asked(context, run) is not None
    assert "Evaluate" not in labels(at)
    assert "Waiting for the analysis worker" in str(at.get("progress")[-1].proto)
    request = claim(context)
    requests.heartbeat(context.engine, request, "evaluating", 0.5)
    at = checked(at.run())
    assert "Evaluation: evaluating" in str(at.get("progress")[-1].proto)
    store(context, run, 3)
    requests.answer(context.engine, request, result=b"", facts={"epochs": [3]})
    at = checked(at.run())
    assert "not evaluated" not in words(at)
    assert "Evaluate" not in labels(at)
    assert [one.value for one in at.metric if one.label == "Best FID (classifier)"] == ["7.50"]


def test_a_refusal_is_shown_with_the_button(context: Context, make_run: MakeRun) -> None:
    run = make_run("without")
    at = checked(button(open_page("run", run=run.id, view="Quality"), "Evaluate").click().run())
    requests.answer(context.engine, claim(context), error="The data set `x` is gone.")
    at = checked(at.run())
    assert "The data set x is gone." in words(at).replace("`", "")
    assert "Evaluate" in labels(at)


def test_a_later_checkpoint_can_be_evaluated(context: Context, make_run: MakeRun) -> None:
    run = make_run("older", status="stopped", epochs=3, quality_every=2)
    at = open_page("run", run=run.id, view="Quality")
    assert "Epoch 3 is stored as a checkpoint and not evaluated." in words(at)
    assert "Evaluate" in labels(at)
    training = make_run("training", status="running", epochs=3, quality_every=2)
    assert "Evaluate" not in labels(open_page("run", run=training.id, view="Quality"))


def test_what_cannot_be_evaluated_says_why(context: Context, make_run: MakeRun) -> None:
    def said(run: Run) -> str:
        at = open_page("run", run=run.id, view="Quality")
        assert "Evaluate" not in labels(at)
        return words(at)

    none = make_run("none", status="failed", epochs=0, grids=False)
    assert "No epoch of this run was finished" in said(none)
    gone = make_run("gone")
    lose_model(context, gone)
    assert "model=gone of this run is not here" in said(gone)
    assert queries.checkpoints(context.engine, gone.id)


def test_selected_runs_are_evaluated(context: Context, make_run: MakeRun) -> None:
    evaluated = make_run("evaluated", quality_every=1)
    first, second = make_run("first"), make_run("second")
    at = open_page()
    assert button(at, "Evaluate").disabled
    at = select_runs(at, [evaluated.id])
    assert button(at, "Evaluate").disabled
    at = select_runs(open_page(), [evaluated.id, first.id, second.id])
    at = checked(button(at, "Evaluate").click().run())
    assert [one.value for one in at.toast] == ["Requested the evaluation of 2 runs."]
    assert asked(context, evaluated) is None
    assert None not in (asked(context, first), asked(context, second))
    make_worker(context, "inference", kind=INFERENCE)
    request = claim(context)
    requests.heartbeat(context.engine, request, "preparing", 0.0)
    shown = str(checked(at.run()).get("progress")[-1].proto)
    assert f"Evaluation of run {request.run_id} (1 more run waiting): preparing" in shown


def test_an_imported_run_names_its_machine(context: Context, make_run: MakeRun) -> None:
    run = make_run("imported", facts={IMPORTED: {"at": "now"}}, epochs=0, status="stopped")
    at = open_page("run", run=run.id, view="Quality")
    assert "its checkpoints are on another machine" in words(at)
