"""The addresses that scripts write to: who may, what is refused, and that repeating is harmless."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn
from starlette.applications import Starlette

import ganboard
from ganboard.app.web import api, reports
from ganboard.db.curves import logged
from ganboard.db.runs import commands, queries
from ganboard.worker.context import Context
from ganboard.worker.external.limits import MAX_BODY
from tests.polling import wait_until
from tests.scripts import NOON, beginning
from tests.up import free_port

TOKEN = "0123456789abcdef" * 3
BEARER = {"Authorization": f"Bearer {TOKEN}"}
LOSS = {"steps": [1, 2], "times": [NOON.timestamp()] * 2, "values": [0.5, "nan"]}


@pytest.fixture
def client(context: Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setenv("GANBOARD_API_TOKEN", TOKEN)
    port = free_port()
    application = Starlette(routes=[*reports.ROUTES, *api.ROUTES])
    server = uvicorn.Server(uvicorn.Config(application, port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started, seconds=10)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        yield client
    server.should_exit = True
    thread.join()


def begun(client: httpx.Client) -> str:
    start = beginning()
    answer = client.put(f"/api/runs/{start['id']}", json=start, headers=BEARER)
    assert (answer.status_code, answer.json()) == (200, {"id": start["id"]})
    return str(start["id"])


def sent(client: httpx.Client, run_id: str, number: int = 1, **parts: Any) -> Any:
    report = {"number": number, "seconds": 1.0, **parts}
    return client.post(f"/api/runs/{run_id}/reports", json=report, headers=BEARER)


def test_a_run_is_reported_and_read_back(context: Context, client: httpx.Client) -> None:
    run_id = begun(client)
    for _ in range(2):  # repeated, as after an answer that was lost
        assert sent(client, run_id, logged={"loss": LOSS}).json() == {"stop": False}
    assert [row[1] for row in logged.rows(context.engine, run_id)] == [1, 2]
    assert client.get(f"/api/runs/{run_id}/logged.csv").text.splitlines()[1].startswith("loss,1,")
    commands.request_stop(context.engine, run_id=run_id)
    assert sent(client, run_id, 2).json() == {"stop": True}
    end = {"status": "finished", "at": NOON.isoformat()}
    for _ in range(2):
        assert sent(client, run_id, 3, end=end).status_code == 200
    assert client.get(f"/api/runs/{run_id}").json()["status"] == "finished"


def test_only_who_knows_the_token_may_write(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = beginning()
    address = f"/api/runs/{start['id']}"
    for headers, status, said in (
        ({}, 401, "Send the header Authorization: Bearer with GANBOARD_API_TOKEN."),
        ({"Authorization": "Basic eA=="}, 401, "Send the header"),
        ({"Authorization": "Bearer wrong"}, 403, "does not know the token"),
    ):
        answer = client.put(address, json=start, headers=headers)
        assert answer.status_code == status
        assert said in answer.json()["error"]
    monkeypatch.setenv("GANBOARD_API_TOKEN", "short")
    answer = client.put(address, json=start, headers={"Authorization": "Bearer short"})
    assert answer.status_code == 403
    assert "takes no reports over HTTP. Set GANBOARD_API_TOKEN" in answer.json()["error"]
    assert client.get("/api/runs").json() == []


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"number": 0}, "number is 0"),
        ({"logged": {"loss": {**LOSS, "steps": [1]}}}, "must be equally many"),
        ({"logged": {"loss": {**LOSS, "steps": [-1, 2]}}}, "logged.loss.steps.0 is -1"),
        ({"logged": {"x" * 81: LOSS}}, "at most 80 characters"),
        ({"logged": {"loss": {**LOSS, "values": ["one", 2]}}}, "valid number"),
        ({"surprise": 1}, "surprise is 1"),
        ({"log": {"offset": 1 << 30, "text": "x"}}, "exceeds"),
        (
            {
                "grids": [
                    {"epoch": 1, "at": NOON.isoformat(), "rows": 1, "columns": 1, "png": "eA=="}
                ]
            },
            "is not a readable PNG",
        ),
    ],
)
def test_reports_out_of_range_are_refused(
    context: Context, client: httpx.Client, parts: dict[str, Any], said: str
) -> None:
    run_id = begun(client)
    answer = sent(client, run_id, **({"number": 1} | parts))
    assert answer.status_code == 400
    assert said in answer.json()["error"]
    assert list(logged.rows(context.engine, run_id)) == []


def test_other_runs_and_strange_requests_are_refused(
    context: Context, client: httpx.Client
) -> None:
    ours = commands.create_run(context.engine, name="ours", config={})
    answer = sent(client, ours.id)
    assert (answer.status_code, "trained by ganboard" in answer.json()["error"]) == (409, True)
    answer = sent(client, "nobody2345")
    assert (answer.status_code, "There is no run" in answer.json()["error"]) == (404, True)
    start = beginning()
    other = client.put("/api/runs/abc", json=start, headers=BEARER)
    assert (other.status_code, "The address names run" in other.json()["error"]) == (400, True)
    hostile = beginning("\u202e")
    answer = client.put(f"/api/runs/{hostile['id']}", json=hostile, headers=BEARER)
    assert (answer.status_code, "invisible" in answer.json()["error"]) == (400, True)
    body = client.post(f"/api/runs/{begun(client)}/reports", content=b"[" * 100, headers=BEARER)
    assert body.status_code == 400
    large = client.put("/api/runs/abc", content=bytes(MAX_BODY + 1), headers=BEARER)
    assert (large.status_code, "at most 33,554,432 bytes" in large.json()["error"]) == (413, True)
    assert queries.count_runs(context.engine) == 2


def test_a_database_that_is_away_is_worth_another_try(
    context: Context, client: httpx.Client
) -> None:
    run_id = begun(client)
    context.engine.dispose()
    database = context.settings.state / "ganboard.db"
    database.rename(database.with_name("away.db"))
    answer = sent(client, run_id, logged={"loss": LOSS})
    assert answer.status_code == 503
    database.with_name("away.db").rename(database)
    assert sent(client, run_id, logged={"loss": LOSS}).status_code == 200


def test_the_sdk_reports_over_http_and_says_what_is_refused(
    context: Context, client: httpx.Client
) -> None:
    url = str(client.base_url)
    with ganboard.start("far away", {"lr": 1}, url=url, token=TOKEN) as run:
        run.log(1, g_loss=float("nan"), d_loss=float("-inf"))
        run.images(1, np.full((4, 8, 8), 255, np.uint8))
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert (stored.status, stored.d_loss) == ("finished", float("-inf"))
    assert queries.grid_epochs(context.engine, run.id) == [1]
    with pytest.raises(ganboard.StartError, match="does not know the token"):
        ganboard.start("far away", url=url, token="another")
