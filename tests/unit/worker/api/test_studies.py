"""Studies through the REST API: planned, launched, watched, compared with what was published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.testclient import TestClient

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.studies import BUDGETS, NAMES
from ganboard.worker.context import Context
from ganboard.worker.studies import study
from tests.surfaces import make_surface
from tests.unit.worker.api.conftest import OWNER, MakeClient
from tests.unit.worker.api.test_runs import refused
from tests.unit.worker.studies.test_study import SMALL

MakeRun = Callable[..., Run]
ASKED: dict[str, Any] = {"name": "batch-size", "budget": "tiny"}
TINY = BUDGETS["tiny"].settings


def launched(client: TestClient, **changes: Any) -> Any:
    answer = client.post("/studies", json=ASKED | changes)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_what_can_be_launched(client: TestClient) -> None:
    found = client.get("/studies/built-in").json()
    assert [one["name"] for one in found] == list(NAMES)
    assert [budget["name"] for budget in found[0]["budgets"]] == list(BUDGETS)
    published = client.get("/studies/published").json()
    keys = {one["key"] for one in published["documents"]}
    assert {one["document"] for one in published["numbers"]} == keys


def test_a_plan_stores_nothing(client_of: MakeClient, context: Context, make_run: MakeRun) -> None:
    done = make_run(**{**TINY, "batch_size": 16})
    plan = client_of(None).post("/plans/study", json=ASKED).json()
    assert (plan["to_train"], len(plan["runs"]), plan["unknown"]) == (1, 2, 0)
    assert {one["run"] for one in plan["runs"]} == {done.id, None}
    assert plan["seconds"] > 0
    assert client_of(None).get("/studies").json() == {"items": [], "next": None}
    assert queries.count_runs(context.engine) == 1


def test_a_study_is_launched_and_gone_on_with(
    client: TestClient, context: Context, make_run: MakeRun
) -> None:
    done = make_run(**{**TINY, "batch_size": 16})
    first = launched(client)
    (queued,) = first["queued"]
    assert queries.find_run(context.engine, queued).owner == OWNER
    assert (first["finished"], first["broken"], first["over"]) == (1, 0, False)
    assert first["runs"] == {"finished": 1, "queued": 1}
    client.post(f"/runs/{queued}/stop")
    state = client.get("/studies/latest").json()
    assert (state["broken"], state["over"], state["done"]) == (1, True, 1.0)
    again = launched(client)
    assert (again["id"], again["queued"]) == (first["id"], [queued])
    runs = client.get(f"/studies/{first['id'][:6]}/runs").json()
    assert {run["id"]: run["parts"] for run in runs} == {done.id: ["batches"], queued: ["batches"]}
    other = launched(client, seeds=2, settings={"limit": 96})
    listed = client.get("/studies", params={"limit": 1}).json()
    assert [one["id"] for one in listed["items"]] == [other["id"]]
    (rest,) = client.get("/studies", params={"after": listed["next"]}).json()["items"]
    assert (rest["id"], rest["runs"]) == (first["id"], {"finished": 1, "queued": 1})


def test_results_stand_beside_the_published_claims(client: TestClient, make_run: MakeRun) -> None:
    for batch in (16, 32):
        make_run(**{**TINY, "batch_size": batch})
    launched(client)
    results = {one["key"]: one for one in client.get("/studies/latest/results").json()}
    timing = results["fig5"]
    assert timing["verdict"] == "too little data"
    assert "needs 3 seeds, has 1" in timing["missing"]
    assert len(timing["table"]["rows"]) == 2
    assert {len(row) for row in timing["table"]["rows"]} == {len(timing["table"]["columns"])}
    assert timing["claim"]
    assert timing["predicted"]["machine"] == "TPU v3-8"
    assert timing["predicted"]["table"]


def test_its_surface_is_shown(client: TestClient, context: Context) -> None:
    asked = study.launch(context, SMALL)[0]
    waits = client.get(f"/studies/{asked.id}").json()["surface"]
    assert (waits["kind"], waits["state"]) == ("surface", "waiting")
    make_surface(
        context, [waits["run_id"], *client.get(f"/surfaces/{waits['id']}").json()["others"]]
    )
    assert client.get("/studies/latest").json()["surface"]["state"] == "done"


def test_what_is_refused(client: TestClient, context: Context) -> None:
    for change, sentence in (
        ({"name": "my_study.py"}, "name: input should be 'paper'"),
        ({"budget": "huge"}, "choose one of paper, paper-small, tiny"),
        ({"settings": {"batch_size": 8}}, "batch_size is varied by the study batch-size"),
        ({"settings": {"limit": -1}}, "limit=-1"),
        ({"seeds": 0}, "seeds: input should be greater than or equal to 1"),
    ):
        for path in ("/studies", "/plans/study"):
            assert sentence in refused(client.post(path, json=ASKED | change), 400)
    for path in ("", "/runs", "/results"):
        assert "There is no study 'nosuch'" in refused(client.get(f"/studies/nosuch{path}"), 404)
    assert queries.count_runs(context.engine) == 0
