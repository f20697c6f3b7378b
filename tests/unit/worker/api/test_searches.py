"""Searches through the REST API: planned, started, watched, stopped, continued, deleted."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from ganboard.db import heartbeats
from ganboard.db.models import SEARCHES
from ganboard.db.searches import searches
from ganboard.worker.context import Context
from ganboard.worker.searches import driver
from tests.unit.worker.api.conftest import OWNER, MakeClient
from tests.unit.worker.api.test_runs import refused
from tests.unit.worker.searches.conftest import train

ASKED: dict[str, Any] = {
    "preset": "tiny",
    "settings": {"epochs": 3},
    "vary": {"g_learning_rate": "1e-5..1e-2", "batch_size": [16, 32]},
    "sampler": "random",
    "runs": 3,
    "parallel": 3,
    "name": "rates",
}


@pytest.fixture
def search(client: TestClient) -> str:
    answer = client.post("/searches", json=ASKED)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_a_plan_stores_nothing(client_of: MakeClient, client: TestClient) -> None:
    plan = client_of(None).post("/plans/search", json=ASKED).json()
    assert "3 runs, 3 at a time" in " ".join(plan["sentences"])
    assert (plan["seconds"], plan["refused_share"]) == (None, 0.0)
    assert client.get("/searches").json() == {"items": [], "next": None}
    client.post("/plans/search", json=ASKED)
    (entry,) = client.get("/audit").json()["items"]
    assert entry["action"] == "token 'test' created"


def test_a_search_with_its_trials(client: TestClient, context: Context, search: str) -> None:
    shown = client.get("/searches/latest").json()
    assert (shown["state"], shown["trials"], shown["best"]) == ("running", [], None)
    assert "No process submits the runs" in shown["warning"]
    driver.advance(context)
    me = {"name": "box-search-1", "kind": SEARCHES, "host": "box", "pid": 1, "run_id": None}
    heartbeats.record(context.engine, **me)
    shown = client.get(f"/searches/{search}").json()
    assert [trial["state"] for trial in shown["trials"]] == ["queued"] * 3
    for trial in shown["trials"]:
        train(context.engine, trial["run"])
    shown = client.get(f"/searches/{search[:6]}").json()
    assert shown["warning"] is None
    values = {trial["run"]: trial["value"] for trial in shown["trials"]}
    assert shown["best"]["value"] == min(values.values())
    assert values[shown["best"]["run"]] == shown["best"]["value"]
    assert shown["best"]["params"]["batch_size"] in (16, 32)
    assert (shown["label"], shown["better"], shown["ended"]) == ("Best FID", "lower", 3)
    assert shown["objective"] == {"metric": "fid", "kind": "best", "target": None}
    assert shown["space"]["batch_size"] == {"choices": [16, 32]}
    assert shown["owner"] == OWNER
    assert client.get("/runs", params={"sweep": search}).json()["items"][0]["name"][:5] == "rates"


def test_searches_in_pages(client: TestClient, search: str) -> None:
    other = client.post("/searches", json=ASKED | {"name": "others"}).json()
    first = client.get("/searches", params={"limit": 1}).json()
    assert [one["id"] for one in first["items"]] == [other["id"]]
    rest = client.get("/searches", params={"after": first["next"]}).json()
    assert ([one["id"] for one in rest["items"]], rest["next"]) == ([search], None)


def test_stopped_and_continued(client: TestClient, context: Context, search: str) -> None:
    driver.advance(context)
    assert client.post(f"/searches/{search}/stop").json()["state"] == "stopped"
    assert "is already stopped" in refused(client.post(f"/searches/{search}/stop"), 409)
    assert "The budget of 3 runs is used. Raise the budget" in refused(
        client.post(f"/searches/{search}/resume"), 409
    )
    more = {"runs": 5, "hours": 2.5}
    resumed = client.post(f"/searches/{search}/resume", json=more).json()
    assert [resumed[name] for name in ("state", "runs", "hours", "parallel")] == [
        "running",
        *(5, 2.5, 3),
    ]
    resumed = client.post(f"/searches/{search}/resume", json={"hours": None}).json()
    assert [resumed[name] for name in ("runs", "hours")] == [5, None]
    assert "Stop it before deleting it" in refused(client.delete(f"/searches/{search}"), 409)
    client.post(f"/searches/{search}/stop", json={"runs": True})
    trials = client.get(f"/searches/{search}").json()["trials"]
    assert {trial["state"] for trial in trials} == {"stopped"}
    assert client.delete(f"/searches/{search}").status_code == 204
    assert "There is no search" in refused(client.get(f"/searches/{search}"), 404)
    assert len(client.get("/runs").json()["items"]) == 3


def test_what_is_refused(client: TestClient, context: Context) -> None:
    for change, sentence in (
        ({"vary": {}}, "Nothing to search"),
        ({"vary": {"nosuch": "1..2"}}, "nosuch"),
        ({"vary": {"dataset": ["mnist", "digits"]}}, "dataset cannot be searched"),
        ({"vary": {"beta_1": "0.9..0"}}, "must ascend"),
        ({"vary": {"batch_size": [16]}}, "batch_size has one value only"),
        ({"metric": "speed"}, "'speed' cannot be optimized"),
        ({"objective": "seconds"}, "needs a target"),
        ({"target": 3.0}, "A target is for the objective seconds only"),
        ({"runs": 0}, "runs: input should be greater than or equal to 1 (given: 0)"),
        ({"preset": "nosuch"}, "nosuch"),
        ({"sampler": "grid"}, "sampler: input should be 'tpe' or 'random'"),
        ({"name": "w" * 60}, "the limit for a sweep is 40"),
        ({"settings": {"model": "nosuch"}}, "nosuch"),
        ({"values": {}}, "values: extra inputs are not permitted"),
    ):
        for path in ("/searches", "/plans/search"):
            assert sentence in refused(client.post(path, json=ASKED | change), 400)
    assert searches.listed(context.engine) == []
    assert "There is no search 'x'" in refused(client.post("/searches/x/stop"), 404)
