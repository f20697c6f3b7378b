"""Runs through the REST API: pages, one run, what people add, launching and stopping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from ganboard.db.engine import writing
from ganboard.db.models import Metric, Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.unit.worker.api.conftest import OWNER

MakeRun = Callable[..., Run]


def names(client: TestClient, **query: Any) -> list[str]:
    answer = client.get("/runs", params=query)
    assert answer.status_code == 200, answer.text
    return [run["name"] for run in answer.json()["items"]]


def refused(answer: Any, status: int) -> str:
    assert (answer.status_code, set(answer.json())) == (status, {"error"}), answer.text
    sentence = str(answer.json()["error"])
    assert sentence.endswith((".", "?"))
    assert "Traceback" not in sentence
    return sentence


def test_pages_of_runs(client: TestClient, make_run: MakeRun) -> None:
    assert client.get("/runs").json() == {"items": [], "next": None}
    for number in range(5):
        make_run(f"run {number}")
    found, cursor = [], None
    while True:
        page = client.get("/runs", params={"limit": 2, **({"after": cursor} if cursor else {})})
        found += [run["name"] for run in page.json()["items"]]
        cursor = page.json()["next"]
        if cursor is None:
            break
    assert found == [f"run {number}" for number in (4, 3, 2, 1, 0)]


def test_filters(context: Context, client: TestClient, make_run: MakeRun) -> None:
    one = make_run("one", status="failed", seed=1, xla=True, g_learning_rate=3e-4)
    make_run("two", status="finished", seed=2)
    old = make_run("old")
    run_annotations.add_tags(context.engine, run_ids=[one.id], tags=["a b"])
    run_annotations.archive(context.engine, run_ids=[old.id])
    assert names(client, status="failed") == names(client, tag="a b") == ["one"]
    assert names(client, status=["failed", "finished"]) == ["two", "one"]
    assert names(client, setting="seed=2") == names(client, name="TW") == ["two"]
    assert names(client, setting=["seed=2", "model=dcgan"]) == ["two"]
    assert names(client, setting="xla=true") == names(client, setting="g_learning_rate=0.0003")
    assert names(client, setting="xla=true") == ["one"]
    assert names(client, archived=True) == ["old"]
    assert names(client, created_before="2020-01-01T00:00:00Z") == []


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"status": "gone"}, "status.0: input should be 'queued'"),
        ({"limit": 0}, "limit: input should be greater than or equal to 1 (given: '0')."),
        ({"after": "#"}, "begin without one"),
        ({"setting": "seed"}, "seed"),
        ({"setting": "sede=1"}, "'sede' is not a setting"),
        ({"created_from": "2026-01-01T00:00:00"}, "timezone"),
        ({"created_from": "0001-01-01T00:00:00+14:00"}, "the year is out of range"),
        ({"after": "WyIwMDAxLTAxLTAxVDAwOjAwOjAwKzE0OjAwIiwgIngiXQ"}, "begin without one"),
    ],
)
def test_bad_filters_are_refused(client: TestClient, query: Any, sentence: str) -> None:
    assert sentence in refused(client.get("/runs", params=query), 400)


def test_one_run(context: Context, client: TestClient, make_run: MakeRun) -> None:
    run = make_run("one", epochs=2, quality_every=1)
    with writing(context.engine) as session:
        metric = session.get_one(Metric, (run.id, 2, "fid"))
        metric.value = float("nan")
    shown = client.get(f"/runs/{run.id[:5]}").json()
    assert shown["id"] == run.id
    assert [epoch["epoch"] for epoch in shown["epochs"]] == [1, 2]
    assert [found["measures"]["fid"] is None for found in shown["quality"]] == [False, True]
    assert client.get("/runs/latest").json() == shown
    assert "There is no run 'nosuchrun'" in refused(client.get("/runs/nosuchrun"), 404)


def test_what_people_add(context: Context, client: TestClient, make_run: MakeRun) -> None:
    run = make_run("one", status="queued")
    run_annotations.add_tags(context.engine, run_ids=[run.id], tags=["old", "kept"])
    changes = {"tags": ["kept", "new"], "note": "A note", "priority": 5}
    shown = client.patch(f"/runs/{run.id}", json=changes).json()
    assert (shown["tags"], shown["note"], shown["priority"]) == (["kept", "new"], "A note", 5)
    assert client.patch(f"/runs/{run.id}", json={}).json() == shown
    stale = client.patch(f"/runs/{run.id}", json={"note": "other", "note_version": 0})
    assert "changed" in refused(stale, 409)
    bad = client.patch(f"/runs/{run.id}", json={"note": "lost?", "tags": [""]})
    assert "tag" in refused(bad, 400)
    assert client.patch(f"/runs/{run.id}", json={}).json() == shown
    misspelled = client.patch(f"/runs/{run.id}", json={"tag": ["x"]})
    assert "tag: extra inputs are not permitted" in refused(misspelled, 400)
    ended = make_run("two", status="finished")
    archived = client.patch(f"/runs/{ended.id}", json={"archived": True}).json()
    assert archived["archived_at"] is not None
    assert client.patch(f"/runs/{ended.id}", json={"archived": False}).json()["archived_at"] is None


def test_the_trash(client: TestClient, make_run: MakeRun) -> None:
    run = make_run("one")
    assert client.delete(f"/runs/{run.id}").json()["deleted_at"] is not None
    assert client.get(f"/runs/{run.id}").status_code == 404
    assert names(client) == []
    assert client.post(f"/runs/{run.id}/restore").json()["deleted_at"] is None
    assert names(client) == ["one"]
    assert "is not in the trash" in refused(client.post(f"/runs/{run.id}/restore"), 409)
    training = make_run("two", status="running")
    assert "Stop it" in refused(client.delete(f"/runs/{training.id}"), 409)


def test_a_run_is_launched_stopped_and_resumed(context: Context, client: TestClient) -> None:
    asked = {"preset": "tiny", "settings": {"epochs": 3}, "name": "by API", "tags": ["api"]}
    answer = client.post("/runs", json={**asked, "priority": 2})
    assert answer.status_code == 201
    shown = answer.json()
    assert (shown["name"], shown["status"], shown["owner"]) == ("by API", "queued", OWNER)
    assert (shown["config"]["epochs"], shown["tags"], shown["priority"]) == (3, ["api"], 2)
    address = f"/runs/{shown['id']}"
    assert client.post(f"{address}/stop").json()["status"] == "stopped"
    assert client.post(f"{address}/resume").json()["status"] == "queued"
    assert "is queued" in refused(client.post(f"{address}/resume"), 409)
    cloned = client.post(f"{address}/clone", json={"settings": {"seed": 9}}).json()
    assert (cloned["parent_id"], cloned["config"]["seed"]) == (shown["id"], 9)
    assert cloned["config"]["epochs"] == 3
    assert len(queries.list_runs(context.engine)) == 2


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"preset": "nosuch"}, "preset 'nosuch' does not exist"),
        ({"settings": {"batch_size": 0}}, "batch_size"),
        ({"settings": {"no_such_setting": 1}}, "no_such_setting"),
        ({"name": " "}, "The name is empty"),
        ({"tags": [""]}, "tag"),
        ({"tags": [str(number) for number in range(21)]}, "at most 20 items"),
        ({"priority": 101}, "priority: input should be less than or equal to 100 (given: 101)."),
        ({"presett": "tiny"}, "presett: extra inputs are not permitted"),
    ],
)
def test_bad_launches_store_nothing(
    context: Context, client: TestClient, asked: dict[str, Any], sentence: str
) -> None:
    answer = client.post("/runs", json={"preset": "tiny", **asked})
    assert sentence in refused(answer, 400)
    assert queries.list_runs(context.engine) == []


def test_no_json_is_refused(client: TestClient) -> None:
    said = refused(client.post("/runs", content=b"{", headers={"Content-Type": "text/json"}), 400)
    assert said
    broken = client.post("/runs", content=b"{", headers={"Content-Type": "application/json"})
    assert "The body is not JSON: " in refused(broken, 400)


def test_a_sweep_is_queued_whole_or_not_at_all(context: Context, client: TestClient) -> None:
    asked = {"preset": "tiny", "values": {"batch_size": [16, 32]}, "seeds": 2, "name": "grid"}
    answer = client.post("/sweeps", json=asked)
    assert answer.status_code == 201, answer.text
    found = answer.json()
    configs = [run["config"] for run in found["runs"]]
    made = sorted((config["batch_size"], config["seed"]) for config in configs)
    assert made == [(16, 0), (16, 1), (32, 0), (32, 1)]
    assert {run["sweep"] for run in found["runs"]} == {found["sweep"]}
    assert len(names(client, sweep=found["sweep"])) == 4
    bad = client.post("/sweeps", json={**asked, "values": {"batch_size": [16, 0]}})
    assert "batch_size=0 is not allowed" in refused(bad, 400)
    assert len(queries.list_runs(context.engine)) == 4
