"""What the form says of the run before it is launched: steps, memory, time, queue."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db.models import Run
from ganboard.gan.costs import estimate
from ganboard.gan.presets import load
from ganboard.worker import formatting
from ganboard.worker.context import Context
from tests.factories import HARDWARE, make_worker
from tests.ui.launch.form import set_number, setting, value
from tests.ui.pages import button, checked, open_page, words

MakeRun = Callable[..., Run]


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


@pytest.mark.usefixtures("context")
def test_the_plan_follows_the_settings() -> None:
    at = set_number(open_page("launch", preset="digits"), "batch_size", 100)
    assert metrics(at) == {
        "Steps per epoch": "17",
        "Total steps": "510",
        "Replicas": "1",
        "Batch per replica": "100",
        "Dropped per epoch": "97",
        "Training time": "unknown",
        "Images at a time": "100",
        "Memory": formatting.size(estimate.estimate(load("digits", {"batch_size": 100}), 1797)),
        "Largest batch": "unknown",
    }
    at = set_number(at, "replicas", 2)
    assert metrics(at)["Batch per replica"] == "50"
    assert metrics(set_number(at, "accumulate", 5))["Images at a time"] == "10"


def test_memory_is_that_of_the_machine_that_would_train(context: Context) -> None:
    make_worker(context)
    at = open_page("launch", preset="digits")
    config = load("digits")
    assert (
        metrics(at)["Largest batch"]
        == f"{estimate.largest_batch(config, HARDWARE['memory_bytes'], 1797):,}"
    )
    make_worker(context, devices={**HARDWARE, "gpus": [{"name": "H200", "memory_bytes": 1 << 37}]})
    assert metrics(checked(at.run()))["Memory"] == formatting.size(
        estimate.estimate(config, 1797, on_gpu=True)
    )


def test_a_precision_that_a_processor_emulates_is_replaced_by_a_click(context: Context) -> None:
    make_worker(context)
    at = set_number(open_page("launch", preset="digits"), "epochs", 7)
    assert "This processor has no bfloat16 instructions" in words(at)
    at = checked(button(at, "Use float32").click().run())
    assert (value(at, "precision"), value(at, "epochs")) == ("float32", 7)
    assert "bfloat16 instructions" not in words(at)
    assert not any(box.label == "Use float32" for box in at.button)


def test_the_time_is_measured_on_a_run_like_this(make_run: MakeRun) -> None:
    # 0.01 s an image
    make_run(
        "before",
        batch_size=32,
        limit=None,
        precision="mixed_bfloat16",
        steps_per_epoch=10,
        seconds_per_epoch=3.2,
    )
    # 30 epochs of 56 steps of 32
    assert metrics(open_page("launch", preset="digits"))["Training time"] == "8 min 58 s"


def test_the_time_says_what_it_comes_from(make_run: MakeRun) -> None:
    for batch, seconds in ((64, 6.4), (128, 10.24)):  # 0.010 and 0.008 s an image
        make_run(
            batch_size=batch,
            limit=None,
            precision="mixed_bfloat16",
            steps_per_epoch=10,
            seconds_per_epoch=seconds,
        )
    at = open_page("launch", preset="digits")
    assert " to " in metrics(at)["Training time"]
    assert "Time from 2 runs with batch 64 and 128, on testbox." in words(at)
    setting(at, "xla").set_value(True)
    assert metrics(checked(at.run()))["Training time"] == "unknown"


def test_the_queue_says_when_a_run_would_begin(context: Context, make_run: MakeRun) -> None:
    make_worker(context)
    at = open_page("launch", preset="digits")
    assert "0 in training, 0 waiting: a run launched now starts immediately." in words(at)
    run = make_run("now", status="running", epochs=3)  # 2 s an epoch, ten more
    make_worker(context, run_id=run.id)
    make_run("next", status="queued", epochs=2)
    at = checked(at.run())
    assert "1 in training, 1 waiting: a run launched now would start in about" in words(at)
    make_run("unlike any", status="queued", loop="fit")
    assert "is unknown" in words(checked(at.run()))
