"""The tab Model of a run: networks as files, from the form to the link, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ganboard.db import requests
from ganboard.db.models import INFERENCE, Request, Run
from ganboard.db.runs.imports import IMPORTED
from ganboard.worker.artifacts import network_files
from ganboard.worker.context import Context
from tests.factories import make_worker
from tests.ui.pages import button, checked, open_page, words

MakeRun = Callable[..., Run]
FACTS = {
    "file": "generator-epoch-3.keras",
    "size": 9,
    "digest": "ab" * 32,
    "machine": "box",
    "difference": 1.3e-6,
    "about": "latent [batch, 8] float32 -> [batch, 28, 28, 1] float32",
    "usage": "import keras",
}


def claimed(context: Context) -> Request:
    request = requests.claim(context.engine, requests.NETWORK_FILES)
    assert request is not None
    return request


def asked_for(context: Context, run: Run, **chosen: Any) -> dict[str, Any]:
    """The options of the request that these choices make."""
    at = open_page("run", run=run.id, view="Model")
    for name, value in chosen.items():
        at.segmented_control(key=f"network_{name}").set_value(value).run()
    checked(button(at, "Write the file").click().run())
    request = claimed(context)
    requests.forget(context.engine, [request.id])  # else it is claimed again when it is abandoned
    return request.options


def test_a_file_is_asked_for_written_and_deleted(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    make_worker(context, "inference", kind=INFERENCE)
    at = open_page("run", run=run.id, view="Model")
    assert at.selectbox(key="network_epoch").value == 3
    at = checked(button(at, "Write the file").click().run())
    request = claimed(context)
    assert request.options == {
        "network": "generator", "format": "keras", "epoch": 3, "weights": None,
    }  # fmt: skip
    requests.heartbeat(context.engine, request, "writing", 0.6)
    at = checked(at.run())
    progress = str(at.get("progress")[-1].proto)
    assert "Generator as .keras: writing" in progress
    path = network_files.folder(context, run.id) / request.id
    path.parent.mkdir(parents=True)
    path.write_bytes(b"a network")
    requests.answer(context.engine, request, result=b"", facts=FACTS)
    at = checked(at.run())
    assert "generator-epoch-3.keras" in words(at)
    assert f"SHA-256 {'ab' * 32}" in words(at)
    assert f"/api/runs/{run.id}/networks/{request.id}" in [
        one.proto.url for one in at.get("link_button")
    ]
    at = checked(at.button(key=f"delete_{request.id}").click().run())
    assert "SHA-256" not in words(at)
    assert not path.exists()


def test_a_request_is_cancelled(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    at = open_page("run", run=run.id, view="Model")
    at = checked(button(at, "Write the file").click().run())
    request = claimed(context)
    at = checked(button(at, "Cancel").click().run())
    assert requests.find(context.engine, request.id) is None
    assert not requests.heartbeat(context.engine, request, "writing", 0.6)
    assert "Cancel" not in [one.label for one in at.button]


def test_only_a_generator_with_an_average_has_weights_to_choose(
    context: Context, make_run: MakeRun
) -> None:
    at = open_page("run", run=make_run().id, view="Model")
    labels = [one.label for one in at.segmented_control]
    assert "Format" in labels
    assert "Weights" not in labels
    run = make_run(ema=0.9)
    assert asked_for(context, run)["weights"] == "average"
    assert asked_for(context, run, weights="training")["weights"] == "training"
    asked = asked_for(context, run, name="discriminator", format="onnx")
    assert asked == {"network": "discriminator", "format": "onnx", "epoch": 3, "weights": None}


def test_refusals_are_said(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    at = open_page("run", run=run.id, view="Model")
    at = checked(button(at, "Write the file").click().run())
    sentence = "ONNX needs the packages of pip install."
    requests.answer(context.engine, claimed(context), error=sentence)
    assert sentence in words(checked(at.run()))

    def said(run: Run) -> str:
        at = open_page("run", run=run.id, view="Model")
        assert "Write the file" not in [one.label for one in at.button]
        return words(at)

    assert "write its networks there" in said(make_run(facts={IMPORTED: {"at": "now"}}, epochs=0))
    assert "has no checkpoint to write" in said(make_run(status="stopped", epochs=0))
    assert "has no checkpoint yet" in said(make_run(status="running", epochs=0))
