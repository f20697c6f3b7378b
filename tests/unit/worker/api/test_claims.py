"""Claims through the REST API: planned, stated, decided by pairs of runs, taken away as a page."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from ganboard.db.claims import records
from ganboard.worker.claims import driver
from ganboard.worker.context import Context
from tests.unit.worker.api.conftest import OWNER, MakeClient
from tests.unit.worker.api.test_runs import refused
from tests.unit.worker.claims.pairs import SENTENCE, play

ASKED: dict[str, Any] = {
    "statement": SENTENCE,
    "preset": "tiny",
    "settings": {"precision": "mixed_bfloat16", "xla": False, "g_learning_rate": 1},
    "against": {"precision": "float32"},
    "pairs": 6,
}


@pytest.fixture
def claim(client: TestClient) -> str:
    answer = client.post("/claims", json=ASKED)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_a_plan_stores_nothing(client_of: MakeClient) -> None:
    plan = client_of(None).post("/plans/claim", json=ASKED).json()
    assert plan["statement"] == "at least 1.3x as fast per epoch and equal fid (margin 0.5)"
    assert plan["runs"] == 12
    assert plan["cost"].startswith("At most 12 runs")
    assert client_of(None).get("/claims").json() == {"items": [], "next": None}


def test_a_claim_is_decided(client: TestClient, context: Context, claim: str) -> None:
    shown = client.get("/claims/latest").json()
    assert (shown["status"], shown["pairs"], shown["runs"]) == ("open", [], [])
    assert "No claims process is running" in shown["warning"]
    assert shown["treatment"]["g_learning_rate"] == 1
    driver.advance(context)
    assert [run["status"] for run in client.get("/claims/latest").json()["runs"]] == ["queued"]
    play(
        context,
        records.find(context.engine, claim),
        lambda treated, seed: (1.0 if treated else 1.6) + 0.01 * seed,
        lambda treated, seed: 5.0 + 0.01 * treated,
    )
    shown = client.get(f"/claims/{claim[:6]}").json()
    assert (shown["status"], shown["warning"]) == ("supported", None)
    assert shown["headline"].startswith("Supported after")
    speed, fid = shown["conditions"]
    assert (speed["status"], speed["holds"], fid["holds"]) == (
        "supported",
        [1.3, None],
        [-0.5, 0.5],
    )
    assert 1.3 < speed["intervals"][-1]["low"] < speed["intervals"][-1]["mean"] < 2
    assert "claimed at least 1.3×" in speed["sentence"]
    assert len(shown["pairs"]) == shown["ended_pairs"] == len(speed["effects"])
    assert {run["run"] for run in shown["runs"] if run["pair"] == 1} == set(
        shown["pairs"][0]["runs"].values()
    )
    assert shown["command"].startswith("ganboard claim ")
    (listed,) = client.get("/claims").json()["items"]
    assert (listed["id"], listed["planned_pairs"], listed["owner"]) == (claim, 6, OWNER)


def test_the_page_is_a_download(client: TestClient, claim: str) -> None:
    answer = client.get(f"/claims/{claim}/page")
    assert answer.headers["content-disposition"] == f'attachment; filename="claim-{claim}.html"'
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "at least 1.3x as fast per epoch" in answer.text
    assert "There is no claim 'nosuch'" in refused(client.get("/claims/nosuch/page"), 404)


def test_stopped_and_deleted(client: TestClient, context: Context, claim: str) -> None:
    driver.advance(context)
    assert "Stop it before deleting it" in refused(client.delete(f"/claims/{claim}"), 409)
    assert client.post(f"/claims/{claim}/stop").json()["status"] == "stopped"
    assert "it is stopped" in refused(client.post(f"/claims/{claim}/stop"), 409)
    (run,) = client.get("/runs").json()["items"]
    assert (run["status"], run["sweep"]) == ("stopped", claim)
    assert client.delete(f"/claims/{claim}").status_code == 204
    assert "There is no claim" in refused(client.get(f"/claims/{claim}"), 404)
    assert client.get(f"/runs/{run['id']}").status_code == 200


def test_what_is_refused(client: TestClient, context: Context) -> None:
    for change, sentence in (
        ({"statement": "the best"}, "'the best' is not understood"),
        ({"statement": "at equal fid"}, "needs a margin"),
        ({"against": {}}, "A claim compares two configurations"),
        ({"against": {"nosuch": 1}}, "nosuch"),
        ({"settings": {"seed": 3}}, "Remove seed"),
        ({"settings": {"batch_size": None}}, "batch_size"),
        ({"pairs": 2}, "pairs: input should be greater than or equal to 3 (given: 2)"),
        ({"confidence": 1.0}, "confidence: input should be less than or equal to 0.999"),
        ({"preset": "nosuch"}, "nosuch"),
    ):
        for path in ("/claims", "/plans/claim"):
            assert sentence in refused(client.post(path, json=ASKED | change), 400)
    assert records.listed(context.engine) == []
