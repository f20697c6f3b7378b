"""`ganboard surface`: what it says when its request goes while it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ganboard.db import requests
from ganboard.db.models import Request, Run
from ganboard.worker.context import Context
from tests.cli import refused

MakeRun = Callable[..., Run]


def test_a_surface_that_is_taken_back(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()

    def compute(_: Context, request: Request, on_progress: Callable[[str, float], None]) -> Any:
        assert requests.withdraw(context.engine, request.id)
        on_progress("reading", 0.0)  # notices it
        pytest.fail("it went on")

    monkeypatch.setattr("ganboard.worker.requests.analysis.compute", compute)
    assert "its run was deleted, or the request was withdrawn" in refused(
        "surface", run.id, "--json"
    )
