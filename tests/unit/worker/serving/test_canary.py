"""A canary meets a share of the requests and is rolled back when it fails."""

from __future__ import annotations

import numpy as np
import pytest

from ganboard.worker.context import Context
from ganboard.worker.serving import batches
from ganboard.worker.serving.split import LEAST
from tests.unit.worker.serving.services import client, registered, service


def test_a_share_of_the_requests_meets_the_canary(context: Context) -> None:
    registered(context)
    registered(context, seed=1)
    with client(service(context, "some:1", "some:2", share=0.5)) as split:
        answered = [
            split.post("/generate", json={"seed": n}, headers={"X-Request-ID": str(n)}).headers[
                "x-model-version"
            ]
            for n in range(30)
        ]
        assert 5 <= answered.count("some:2") <= 25
        again = split.post("/generate", json={"seed": 0}, headers={"X-Request-ID": "0"})
        assert again.headers["x-model-version"] == answered[0]
        assert split.get("/version").json()["canary"] == split.get("/version").json()["canary"] | {
            "share": 0.5,
            "rolled_back": None,
        }


def test_a_canary_with_values_that_are_not_finite_is_rolled_back_and_nobody_notices(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    registered(context)
    registered(context, seed=1)
    made = service(context, "some:1", "some:2", share=1.0)
    assert made.canary is not None
    made.canary.generator._network.variables[0].assign(
        made.canary.generator._network.variables[0] * np.nan
    )
    with client(made) as split:
        for seed in range(3):
            said = split.post("/generate", json={"seed": seed})
            assert (said.status_code, said.headers["x-model-version"]) == (200, "some:1")
        metrics = split.get("/metrics").text
        assert split.get("/version").json()["canary"]["rolled_back"] == "its outputs are not finite"
    assert 'ganboard_serve_answers_total{model="some:2",outcome="not finite"} 1.0' in metrics
    assert "ganboard_serve_rollbacks_total 1.0" in metrics
    assert "ganboard_serve_canary_share 0.0" in metrics
    assert (
        "The canary some:2 is rolled back and receives no more requests: its outputs are not"
        " finite." in caplog.messages
    )


def test_a_canary_that_fails_is_rolled_back_and_a_main_version_that_fails_says_so(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    registered(context)
    registered(context, seed=1)
    made = service(context, "some:1", "some:2", share=1.0)
    assert made.canary is not None
    made.canary.batches._compute = made.main.batches._compute.__class__  # is no function of inputs
    with client(made) as split:
        answers = [split.post("/generate", json={"seed": 1}) for _ in range(LEAST + 5)]
        assert {said.headers["x-model-version"] for said in answers} == {"some:1"}
        assert ("100% of its requests failed") in split.get("/version").json()["canary"][
            "rolled_back"
        ]
        made.main.batches._compute = made.canary.batches._compute  # type: ignore[attr-defined]
        assert split.post("/generate", json={"seed": 1}).json() == {
            "error": "some:1 did not respond: see its log for details."
        }
        assert split.get("/healthz").status_code == 500


def test_requests_that_a_busy_canary_refuses_are_the_main_versions(context: Context) -> None:
    registered(context)
    registered(context, seed=1)
    made = service(context, "some:1", "some:2", share=1.0)
    assert made.canary is not None
    made.canary.batches.waiting = batches.MAX_WAITING
    with client(made) as split:
        said = split.post("/generate", json={"seed": 1})
        assert (said.status_code, said.headers["x-model-version"]) == (200, "some:1")
        made.main.batches.waiting = batches.MAX_WAITING
        said = split.post("/generate", json={"seed": 1})
        assert (said.status_code, said.headers["retry-after"]) == (503, "1")
        assert "Try again later" in said.json()["error"]
