"""Loss surfaces through the REST API: asked for, watched, read, taken back."""

from __future__ import annotations

from collections.abc import Callable

from starlette.testclient import TestClient

from ganboard.db import requests
from ganboard.db.models import Run
from ganboard.gan.landscape.geometry import pack
from ganboard.worker.context import Context
from tests.surfaces import arrays, make_surface
from tests.unit.worker.api.test_runs import refused

MakeRun = Callable[..., Run]


def test_a_surface_is_asked_for_and_computed(
    client: TestClient, context: Context, make_run: MakeRun
) -> None:
    run, other = make_run("one"), make_run("two", seed=1)
    asked = client.post(
        f"/runs/{run.id[:6]}/surfaces", json={"size": 5, "others": [other.id, run.id]}
    )
    assert asked.status_code == 202, asked.text
    surface = asked.json()
    assert (surface["state"], surface["run_id"], surface["others"]) == (
        *("waiting", run.id),
        [other.id],
    )
    assert surface["options"] == {"plane": "principal", "size": 5, "images": 256, "seed": 0}
    address = f"/surfaces/{surface['id']}"
    assert client.get(f"/requests/{surface['id']}").json()["kind"] == "surface"
    assert "has no values. It waits" in refused(client.get(f"{address}/values"), 409)
    claimed = requests.claim(context.engine, requests.ANALYSES, surface["id"])
    assert claimed is not None
    requests.heartbeat(context.engine, claimed, "surface", 0.25)
    shown = client.get(address).json()
    assert (shown["state"], shown["phase"], shown["progress"]) == ("computing", "surface", 0.25)
    result = pack(arrays(2))
    requests.answer(context.engine, claimed, result=result, facts={"shares": {"g": 0.9, "d": 0.8}})
    assert client.get(address).json()["facts"] == {"shares": {"g": 0.9, "d": 0.8}}
    values = client.get(f"{address}/values").json()
    assert values["id"] == surface["id"]
    assert [len(values["g"]["surface"]), len(values["d"]["x"])] == [5, 5]
    assert values["g"]["surface"][0][0] is None  # it is NaN
    assert values["g"]["surface"][2][4] == 1.0
    start = values["d"]["path"][0]
    assert {"epoch": start["epoch"], "run": start["run"], "radius": start["radius"]} == {
        "epoch": 0,
        "run": run.id,
        "radius": 3.0,
    }
    assert [point["run"] for point in values["g"]["path"]] == [run.id] * 4 + [other.id] * 4
    assert "has been computed or has failed" in refused(client.delete(address), 409)


def test_surfaces_in_pages(client: TestClient, context: Context, make_run: MakeRun) -> None:
    one, two = make_run("one"), make_run("two", seed=1)
    made = [make_surface(context, [run.id]) for run in (one, two)]
    made.append(client.post(f"/runs/{one.id}/surfaces", json={"plane": "random"}).json()["id"])
    first = client.get("/surfaces", params={"limit": 2}).json()
    assert [surface["id"] for surface in first["items"]] == made[:0:-1]
    (last,) = client.get("/surfaces", params={"after": first["next"]}).json()["items"]
    assert (last["id"], last["state"]) == (made[0], "done")
    of_one = client.get("/surfaces", params={"run": one.id}).json()["items"]
    assert [surface["id"] for surface in of_one] == [made[2], made[0]]


def test_a_surface_is_taken_back(client: TestClient, context: Context, make_run: MakeRun) -> None:
    run = make_run()
    waits = client.post(f"/runs/{run.id}/surfaces").json()["id"]
    assert client.post(f"/runs/{run.id}/surfaces").json()["id"] == waits
    assert client.delete(f"/surfaces/{waits}").status_code == 204
    assert "There is no surface" in refused(client.get(f"/surfaces/{waits}"), 404)
    computed = client.post(f"/runs/{run.id}/surfaces").json()["id"]
    claimed = requests.claim(context.engine, requests.ANALYSES, computed)
    assert claimed is not None
    assert client.delete(f"/surfaces/{computed}").status_code == 204
    assert not requests.heartbeat(context.engine, claimed, "surface", 0.5)


def test_a_failed_one_says_why(client: TestClient, context: Context, make_run: MakeRun) -> None:
    run = make_run()
    surface = make_surface(context, [run.id], result=None, facts={}, error="It spans no plane.")
    assert client.get(f"/surfaces/{surface}").json()["error"] == "It spans no plane."
    assert "It spans no plane." in refused(client.get(f"/surfaces/{surface}/values"), 409)


def test_what_is_refused(client: TestClient, make_run: MakeRun) -> None:
    run, other = make_run(), make_run("other", generator_batch_norm=False)
    bare = make_run("bare", snapshots=0)
    evaluation = client.post(f"/runs/{run.id}/evaluations").json()["id"]
    for path, body, status, sentence in (
        (run.id, {"size": 3}, 400, "size: input should be greater than or equal to 5 (given: 3)"),
        (run.id, {"plane": "flat"}, 400, "plane: input should be 'principal' or 'random'"),
        (run.id, {"others": ["nosuch"]}, 404, "There is no run 'nosuch'"),
        (run.id, {"others": [other.id]}, 400, "their paths do not fit on one surface"),
        (bare.id, {}, 400, "kept no snapshots of its weights"),
        ("nosuch", {}, 404, "There is no run 'nosuch'"),
    ):
        assert sentence in refused(client.post(f"/runs/{path}/surfaces", json=body), status)
    assert "There is no surface" in refused(client.get(f"/surfaces/{evaluation}"), 404)
    assert "There is no surface" in refused(client.delete(f"/surfaces/{evaluation}"), 404)
