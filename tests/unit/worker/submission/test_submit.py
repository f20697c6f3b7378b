"""Submitting: what is refused before anything is stored, and what is stored whatever happens to the
queue."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import ConfigError
from ganboard.gan.presets import load
from ganboard.gan.quality import inception_weights
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import clone, machines, resume, stop, submit
from tests.factories import HARDWARE, make_worker


def test_a_run_is_stored_even_without_a_queue(context: Context) -> None:
    run = submit(context, load("tiny"))
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert stored.status == "queued"
    assert [event.text for event in queries.events(context.engine, run.id)] == ["Submitted."]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"limit": 40, "batch_size": 41}, "larger than limit=40"),
        (
            {"limit": None, "batch_size": 2048},
            "batch_size=2048 is larger than the data set (1797 images of digits)",
        ),
        ({"dataset": "images", "images_path": "nowhere"}, "nowhere"),
    ],
)
def test_what_cannot_work_leaves_no_row(
    context: Context, changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ValueError) as error:  # validation and submission may both refuse
        submit(context, load("tiny", changes))
    assert complaint in str(error.value)
    assert queries.count_runs(context.engine) == 0


def test_what_no_machine_can_do_is_refused_without_a_worker(context: Context) -> None:
    with pytest.raises(ConfigError, match="loop=fit is not available with strategy=tpu"):
        submit(context, load("tiny", {"loop": "fit", "strategy": "tpu"}))
    # a GPU worker may come
    assert submit(context, load("tiny", {"precision": "mixed_float16"})).status == "queued"


@pytest.mark.usefixtures("offline")
def test_an_evaluation_without_its_weights_is_refused(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(context.settings.home / "keras"))
    by_inception = {"quality_features": "inception", "quality_every": 1}
    with pytest.raises(ConfigError, match=r"which are not at .*, and .* cannot be reached"):
        submit(context, load("tiny", by_inception))
    assert submit(context, load("tiny", {**by_inception, "quality_every": 0})).status == "queued"
    weights = context.settings.data / inception_weights.NAME
    weights.parent.mkdir(parents=True, exist_ok=True)
    weights.touch()  # what is in it is looked at when the evaluation begins
    assert submit(context, load("tiny", by_inception)).status == "queued"


def test_what_every_live_worker_lacks_is_refused(context: Context) -> None:
    make_worker(context, devices={**HARDWARE, "gpus": [], "tpus": []})
    with pytest.raises(ConfigError, match="mixed_float16 needs a GPU"):
        submit(context, load("tiny", {"precision": "mixed_float16"}))
    make_worker(context, "gpu-box", devices={**HARDWARE, "gpus": [{"name": "a GPU"}], "tpus": []})
    assert submit(context, load("tiny", {"precision": "mixed_float16"})).status == "queued"


def test_clone_changes_only_what_is_asked(context: Context, make_run: Callable[..., Run]) -> None:
    parent = make_run("the parent")
    child = clone(context, parent.id[:6], {"batch_size": "16"})
    assert child.parent_id == parent.id
    assert child.name == "the parent (clone)"
    assert {**parent.config, "batch_size": 16} == child.config
    with pytest.raises(UnknownRun):
        clone(context, "nonsense", {})


def test_stop_and_resume(context: Context, make_run: Callable[..., Run]) -> None:
    waiting = make_run("waiting", status="queued")
    assert stop(context, waiting.id) == "stopped"
    assert resume(context, waiting.id).status == "queued"
    running = make_run("running", status="running")
    assert stop(context, running.id) == "running"
    with pytest.raises(NotAllowed, match="Only stopped and failed"):
        resume(context, running.id)


def test_machines_are_those_of_live_workers(context: Context) -> None:
    assert machines(context).workers == 0
    assert machines(context).able(load("tiny")) is None
    # a GPU worker may come
    assert machines(context).refusal(load("tiny", {"precision": "mixed_float16"})) is None
    make_worker(context, devices={**HARDWARE, "host": "a"})
    make_worker(
        context,
        "z-gpu-box",
        devices={**HARDWARE, "host": "b", "gpus": [{"name": "a GPU", "memory_bytes": 1 << 37}]},
    )
    here = machines(context)
    assert here.workers == 2
    assert {
        (here.able(load("tiny", {"precision": precision})) or {})["host"]
        for precision in ("float32", "mixed_float16")
    } == {"a", "b"}
    assert "no TPU was found" in (here.refusal(load("tiny", {"strategy": "tpu"})) or "")
