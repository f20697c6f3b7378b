"""Versions of models on request: stored once, whoever answers how often, and refused in one
sentence."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.db import requests, versions
from ganboard.db.models import Request
from ganboard.worker.context import Context
from ganboard.worker.registry import measurement
from ganboard.worker.registry import versions as models
from ganboard.worker.requests import analysis, loop
from tests.registered import DCGAN, config, finished


def answered(context: Context, kind: str, run_id: str, options: dict[str, Any]) -> Request:
    asked = requests.ask(context.engine, kind, [run_id], options)
    request = requests.claim(context.engine, requests.MODELS, asked)
    assert request is not None
    loop.answer(context, request, analysis.compute)
    found = requests.find(context.engine, asked)
    assert found is not None
    return found


def test_a_version_is_registered_once_and_quantized(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurement, "footprint", lambda directory, digest: 5e8)
    run, _ = finished(context, config(DCGAN))
    found = answered(context, requests.REGISTRATION, run.id, {"name": "digits", "epoch": 3})
    assert (found.error, found.facts["called"]) == (None, "digits:1")
    # its process died before it could answer
    assert analysis.compute(context, found, lambda phase, share: None)[1]["version"] == found.id
    [full] = versions.listed(context.engine)
    assert (full.id, full.epoch) == (found.id, 3)

    asked = {"version": full.id, "to": "float16", "force": True}
    found = answered(context, requests.QUANTIZATION, run.id, asked)
    assert (found.error, found.facts["called"]) == (None, "digits:2")
    models.remove(context, full)
    again = answered(context, requests.QUANTIZATION, run.id, asked | {"to": "int8"})
    assert again.error == "The version has been removed. Choose another one."


def test_bad_options_are_refused(context: Context) -> None:
    run, _ = finished(context, config(DCGAN))
    found = answered(context, requests.REGISTRATION, run.id, {"name": "../etc"})
    assert "is not a valid model name" in (found.error or "")
    found = answered(context, requests.REGISTRATION, run.id, {"shell": "rm"})
    assert "The request cannot be read" in (found.error or "")
