"""What was recorded of runs, comparisons, requests and versions through the REST API."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from ganboard.db import requests
from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.unit.worker.api.test_runs import refused

MakeRun = Callable[..., Run]


def test_metrics_and_their_values(client: TestClient, make_run: MakeRun) -> None:
    run = make_run(epochs=2, steps_per_epoch=4)
    listed = {one["metric"]: one for one in client.get(f"/runs/{run.id}/metrics").json()}
    assert listed["g_loss"]["stored"] == "step"
    asked = {"metric": ["g_loss", "d_loss / g_loss"], "over": "epoch"}
    loss, ratio = client.get(f"/runs/{run.id}/values", params=asked).json()
    assert loss["step"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert loss["x"][-1] == 2.0
    assert len(ratio["y"]) == 8
    few = client.get(f"/runs/{run.id}/values", params={"metric": "g_loss", "points": 3}).json()
    assert len(few[0]["y"]) < 8
    for query, sentence in (
        ({"metric": "nosuch"}, "nosuch"),
        ({"metric": "g_loss +"}, "g_loss +"),
        ({"metric": "g_loss", "over": "nosuch"}, "nosuch"),
        ({}, "metric: field required"),
    ):
        assert sentence in refused(client.get(f"/runs/{run.id}/values", params=query), 400)


def test_events_and_explanation(client: TestClient, make_run: MakeRun) -> None:
    run = make_run(epochs=4)
    events = client.get(f"/runs/{run.id}/events").json()
    assert [event["id"] for event in events] == sorted((e["id"] for e in events), reverse=True)
    assert len(client.get(f"/runs/{run.id}/events", params={"limit": 1}).json()) == 1
    assert client.get(f"/runs/{run.id}/explanation").json()["checked"]
    queued = make_run(status="queued")
    assert "Nothing to explain yet" in refused(client.get(f"/runs/{queued.id}/explanation"), 409)


def test_a_comparison_says_what_the_page_says(client: TestClient, make_run: MakeRun) -> None:
    slow = make_run("slow", epochs=5, seconds_per_epoch=2.0, quality_every=1, batch_size=16)
    fast = make_run("fast", epochs=5, seconds_per_epoch=1.0, quality_every=1, batch_size=32)
    found = client.get("/comparison", params={"run": [slow.id, fast.id]}).json()
    assert "batch_size 32" in found["verdict"]
    assert "faster" in found["verdict"]
    rows = {row["name"]: row for row in found["runs"]}
    assert [rows["slow"]["baseline"], rows["fast"]["baseline"]] == [True, False]
    assert rows["fast"]["settings"] == {"batch_size": 32}
    assert rows["fast"]["median_epoch_seconds"] == pytest.approx(1.0)
    assert rows["slow"]["best"] is not None
    turned = client.get(
        "/comparison", params={"run": [slow.id, fast.id], "baseline": fast.id}
    ).json()
    assert "slower" in turned["verdict"]


def test_comparisons_that_cannot_be(client: TestClient, make_run: MakeRun) -> None:
    one, two, three = (make_run(str(number)).id for number in range(3))

    def sentence(status: int, **query: object) -> str:
        return refused(client.get("/comparison", params=query), status)  # type: ignore[arg-type]

    assert "run: list should have at least 2 items" in sentence(400, run=[one])
    assert "two different runs" in sentence(409, run=[one, one])
    assert "is not among the compared runs" in sentence(409, run=[one, two], baseline=three)
    assert "There is no run" in sentence(404, run=[one, "nosuch"])


def test_rankings_keep_apart_what_cannot_be_compared(client: TestClient, make_run: MakeRun) -> None:
    for seed in range(3):
        make_run(f"run {seed}", epochs=3, quality_every=1, seed=seed)
    make_run("other", epochs=1, quality_every=1, quality_images=500)
    make_run("not evaluated")
    long, short = client.get("/rankings").json()
    assert (len(long["runs"]), [run["name"] for run in short["runs"]]) == (3, ["other"])
    values = [run["value"] for run in long["runs"]]
    assert values == sorted(values)
    assert (long["metric"], long["better"], long["data"]) == ("FID", "lower", "digits")
    assert [len(one["runs"]) for one in client.get("/rankings", params={"limit": 2}).json()] == [
        2,
        1,
    ]
    assert client.get("/rankings", params={"metric": "nosuch"}).json() == []


def test_requests_are_answered_by_a_worker(
    context: Context, client: TestClient, make_run: MakeRun
) -> None:
    run = make_run()
    asked = client.post(f"/runs/{run.id}/evaluations")
    assert asked.status_code == 202
    request_id = asked.json()["id"]
    assert client.post(f"/runs/{run.id}/evaluations").json()["id"] == request_id
    claimed = requests.claim(context.engine, requests.EVALUATIONS, request_id)
    assert claimed is not None
    requests.heartbeat(context.engine, claimed, "epoch 2", 0.5)
    shown = client.get(f"/requests/{request_id}").json()
    assert (shown["state"], shown["phase"], shown["progress"]) == ("computing", "epoch 2", 0.5)
    requests.answer(context.engine, claimed, error="It cannot be done.")
    shown = client.get(f"/requests/{request_id}").json()
    assert (shown["state"], shown["error"]) == ("failed", "It cannot be done.")
    assert "There is no request" in refused(client.get("/requests/nosuch"), 404)
    named = client.post(f"/runs/{run.id}/versions", json={"name": "digits", "epoch": 3}).json()
    stored = requests.find(context.engine, named["id"])
    assert stored is not None
    assert (stored.kind, stored.options) == ("registration", {"name": "digits", "epoch": 3})
    bad = client.post(f"/runs/{run.id}/versions", json={"name": "no such: name"})
    assert "name" in refused(bad, 400)
    network = client.post(f"/runs/{run.id}/networks", json={"network": "generator", "epoch": 3})
    stored = requests.find(context.engine, network.json()["id"])
    assert stored is not None
    assert stored.options == {
        "network": "generator", "format": "keras", "epoch": 3, "weights": None,
    }  # fmt: skip
    gone = client.post(f"/runs/{run.id}/networks", json={"network": "generator", "epoch": 9})
    assert "has no checkpoint of epoch 9" in refused(gone, 400)


def test_settings_to_launch_with(client: TestClient) -> None:
    found = client.get("/settings").json()
    assert "starter" in {preset["name"] for preset in found["presets"]}
    assert "batch_size" in {setting["name"] for setting in found["settings"]}
