"""The tab Model of a run: what it asks for, what it says meanwhile, and when nothing can be
registered."""

from __future__ import annotations

from collections.abc import Callable

from ganboard.db import requests
from ganboard.db.models import INFERENCE, Run
from ganboard.db.runs.imports import IMPORTED
from ganboard.worker.context import Context
from tests.factories import make_worker
from tests.ui.pages import button, checked, open_page, words
from tests.versions import add_version

MakeRun = Callable[..., Run]


def test_a_checkpoint_is_registered_under_a_name(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    make_worker(context, "inference", kind=INFERENCE)
    at = open_page("run", run=run.id, view="Model")
    assert at.text_input(key="model_name").value == "digits"
    at = checked(button(at, "Register").click().run())
    request = requests.claim(context.engine, requests.MODELS)
    assert request is not None
    assert request.kind == requests.REGISTRATION
    assert request.options == {"name": "digits", "epoch": 3}
    requests.heartbeat(context.engine, request, "reading the checkpoint", 0.4)
    progress = str(checked(at.run()).get("progress")[-1].proto)
    assert "Registering digits: reading the checkpoint" in progress
    version = add_version(context, run_id=run.id)
    requests.answer(context.engine, request, facts={"version": version.id})
    at = checked(at.run())
    assert "1 version of this run" in words(at)
    assert "digits:1 in float32" in words(at)
    assert {"Details", "Playground", "Quantize", "Set alias"} <= {one.label for one in at.button}


def test_a_bad_name_and_a_refusal_are_said(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    at = open_page("run", run=run.id, view="Model")
    at.text_input(key="model_name").set_value("Not a name")
    at = checked(button(at, "Register").click().run())
    assert "is not a valid model name" in words(at)
    at.text_input(key="model_name").set_value("digits")
    at = checked(button(at, "Register").click().run())
    request = requests.claim(context.engine, requests.MODELS)
    assert request is not None
    requests.answer(context.engine, request, error="The checkpoint of step 12 is damaged.")
    assert "The checkpoint of step 12 is damaged." in words(checked(at.run()))


def test_what_cannot_be_registered_says_why(context: Context, make_run: MakeRun) -> None:
    def said(run: Run) -> str:
        at = open_page("run", run=run.id, view="Model")
        assert "Register" not in [one.label for one in at.button]
        return words(at)

    assert "from runs that have ended" in said(make_run(status="running"))
    assert "This run failed" in said(make_run(status="failed"))
    assert "on another machine" in said(make_run(facts={IMPORTED: {"at": "now"}}))
    assert "has no checkpoint" in said(make_run(status="stopped", epochs=0))
