"""The tab Prediction of pix2pix runs: asked for, waited for, shown, refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import update
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from ganboard.db import requests
from ganboard.db.engine import writing
from ganboard.db.models import INFERENCE, Run
from ganboard.db.runs.imports import IMPORTED
from ganboard.worker.context import Context
from tests.factories import make_worker, png
from tests.streets import SETTINGS
from tests.ui.pages import button, checked, open_page, words
from tests.ui.pictures import captions, figures

MakeRun = Callable[..., Run]
ASKED = {"steps": 60, "halo": 0, "group": 0}
FLOW = {
    "sequence": 0, "kind": "held-out shape", "obstacle": "square", "reynolds": 90.0,
    "l1": [0.01, 0.02], "rms": [0.02, 0.06], "held_l1": [0.02, 0.04], "held_rms": [0.03, 0.05],
    "mean_rms": [0.05, 0.05], "horizon": 1, "strouhal": None, "real_strouhal": 0.171,
    "recorded_strouhal": 0.170, "amplitude": 0.4, "real_amplitude": 0.5,
}  # fmt: skip
PARTS = {"split": 0.001, "transfer": 0.001, "execute": 0.006, "merge": 0.002}
FACTS = {
    "step": 12, "steps": 2, "l1_one_step": {"training": 0.01, "held-out shape": 0.013},
    "seconds": 4.0, "flows": [FLOW],
    "times": {"first": {**PARTS, "execute": 3.0}, "steady": PARTS, "compiled": 1},
}  # fmt: skip


@pytest.fixture
def run(make_run: MakeRun) -> Run:
    return make_run("a street", **SETTINGS)


def opened(run: Run) -> AppTest:
    return open_page("run", run=run.id, view="Prediction")


def waiting(at: AppTest) -> str:
    return str(at.get("progress")[-1].proto.text)


def answered(context: Context, run: Run, **answer: object) -> None:
    asked = requests.ask(context.engine, requests.PREDICTION, [run.id], ASKED)
    claimed = requests.claim(context.engine, requests.ANALYSES, asked)
    assert claimed is not None
    requests.answer(context.engine, claimed, **answer)  # type: ignore[arg-type]


def test_a_prediction_is_asked_for_and_waited_for(context: Context, run: Run) -> None:
    at = opened(run)
    assert "predicts one flow of each kind" in words(at)
    at.text_input(key="predict_steps").set_value("0")
    at = checked(button(at, "Predict").click().run())
    assert "Steps: '0' is invalid. Enter a whole number from 1 to 1,000." in words(at)
    assert requests.of_runs(context.engine, requests.PREDICTION, [run.id]) == []
    at.text_input(key="predict_steps").set_value("20")
    at = checked(button(at, "Predict").click().run())
    [asked] = requests.of_runs(context.engine, requests.PREDICTION, [run.id])
    assert asked.options == {"steps": 20, "halo": 0, "group": 0}
    assert "No inference worker is running" in waiting(at)
    make_worker(context, "here:inference:1", kind=INFERENCE)
    assert "Waiting for the analysis worker" in waiting(checked(at.run()))
    claimed = requests.claim(context.engine, requests.ANALYSES)
    assert claimed is not None
    requests.heartbeat(context.engine, claimed, "predicting", 0.5)
    assert "Predicting … about" in waiting(checked(at.run()))


def test_an_answer_is_shown_whole(context: Context, run: Run) -> None:
    answered(context, run, result=png(1), facts=FACTS)
    at = opened(run)
    assert "after training step 12" in captions(at)[0]
    l1, rms, parts = figures(at)
    assert [trace["name"] for trace in l1["data"]] == ["Predicted", "First frame held"]
    assert [trace["name"] for trace in rms["data"]] == [
        "Predicted",
        "First frame held",
        "Mean flow",
    ]
    assert [shape["x0"] for shape in rms["layout"]["shapes"]] == [2]
    assert [bar["name"] for bar in parts["data"]] == ["Split", "Transfer", "Execute", "Merge"]
    shown = {metric.label: metric.value for metric in at.metric}
    assert (
        shown["Strouhal number"],
        shown["Real, same frames"],
        shown["Better than the mean flow"],
    ) == ("–", "0.171", "1 step")
    assert at.dataframe[-1].value.to_numpy().tolist() == [
        ["Training", 0.01, 0.0],
        ["Held-out shape", 0.013, 0.003],
    ]
    assert "Square at Re 90: held-out shape" in words(at)
    assert "60% of 10.0 ms is the network's; the first frame took 3" in words(at)


def test_an_error_is_shown_and_the_last_answer_stays(context: Context, run: Run) -> None:
    answered(context, run, result=png(1), facts=FACTS)
    answered(
        context,
        run,
        error=(
            "A network of 64x64 pixels with halo=8 does not tile a frame of 64x64: choose a halo of"
            " 0 or 16."
        ),
    )
    at = opened(run)
    assert "choose a halo of 0 or 16" in words(at)
    assert len(figures(at)) == 3


def test_runs_that_cannot_predict_say_why(context: Context, make_run: MakeRun, run: Run) -> None:
    early = opened(make_run("early", status="running", epochs=0, **SETTINGS))
    assert "one is saved every checkpoint_every epochs" in words(early)
    assert button(early, "Predict").disabled
    with writing(context.engine) as session:
        session.execute(
            update(Run)
            .where(col(Run.id) == run.id)
            .values(facts={IMPORTED: "2026-11-21T10:00:00+00:00"})
        )
    assert "its checkpoints are on another machine" in words(opened(run))


def test_other_models_have_no_such_tab(make_run: MakeRun) -> None:
    at = opened(make_run("digits"))
    assert "Prediction" not in [tab.label for tab in at.tabs]
    assert "Predict" not in [button.label for button in at.button]
