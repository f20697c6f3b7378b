"""An assistant with the official client: what it finds out, and what it may change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from sqlmodel import col, select

from ganboard.db.engine import reading
from ganboard.db.models import AuditEntry, Run
from ganboard.db.runs import queries
from ganboard.worker.assistant import api_client, server
from ganboard.worker.context import Context
from ganboard.worker.searches import driver
from ganboard.worker.studies import study
from tests.unit.worker.assistant.loop import in_a_loop
from tests.unit.worker.claims import pairs
from tests.unit.worker.searches.conftest import start, train
from tests.unit.worker.studies.test_study import SMALL

MakeRun = Callable[..., Run]
CHANGES = {
    *("launch_run", "launch_sweep", "clone_run", "stop_run", "resume_run"),
    *("annotate_run", "evaluate_run", "register_model"),
}


@pytest.fixture
def call(context: Context) -> Callable[..., Any]:
    """Calls a tool as an assistant does; `changes`: of a server that lets it change things."""

    def run(tool: str, arguments: dict[str, Any], changes: bool = False) -> Any:
        async def once() -> Any:
            async with (
                api_client.here(context, "write" if changes else "read") as api,
                Client(server.make(api, changes=changes)) as client,
            ):
                return await client.call_tool(tool, arguments)

        return in_a_loop(once)

    return run


def answer(result: Any) -> Any:
    assert not result.is_error, result.content
    found = result.structured_content
    return found["result"] if set(found) == {"result"} else found


def error(result: Any) -> str:
    assert result.is_error, result
    return str(result.content[0].text)


def tools(context: Context, changes: bool) -> dict[str, Any]:
    async def listed() -> Any:
        async with (
            api_client.here(context, "read") as api,
            Client(server.make(api, changes=changes)) as client,
        ):
            return await client.list_tools()

    return {tool.name: tool for tool in in_a_loop(listed).tools}


def test_tools_say_what_they_do(context: Context) -> None:
    reads, every = tools(context, changes=False), tools(context, changes=True)
    assert set(every) - set(reads) == CHANGES
    assert all(tool.annotations.read_only_hint for tool in reads.values())
    assert not any(every[name].annotations.destructive_hint for name in CHANGES)
    assert all(tool.description for tool in every.values())


def test_which_run_was_best_and_why(call: Callable[..., Any], make_run: MakeRun) -> None:
    made = [
        make_run(f"batch {size}", epochs=5, quality_every=1, batch_size=size, seed=size)
        for size in (16, 32)
    ]
    (ranking,) = answer(call("rank_runs", {}))
    assert {run["id"] for run in ranking["runs"]} == {run.id for run in made}
    best, other = (run["id"] for run in ranking["runs"])
    compared = answer(call("compare_runs", {"runs": [other, best]}))
    assert "batch_size" in compared["verdict"]
    assert {frozenset(run["settings"]) for run in compared["runs"]} == {frozenset({"batch_size"})}
    assert answer(call("explain_run", {"run": best}))["checked"]


def test_a_long_run_is_shown_in_part(call: Callable[..., Any], make_run: MakeRun) -> None:
    run = make_run(epochs=45)
    shown = answer(call("show_run", {"run": run.id}))
    assert [epoch["epoch"] for epoch in shown["epochs"]] == list(range(3, 46, 3))
    assert shown["epochs_shown"] == "1 of every 3 of 45, the last included"
    (curve,) = answer(call("metric_values", {"run": run.id, "metric": ["g_loss"]}))
    assert len(curve["y"]) <= 110
    found = answer(call("list_runs", {"setting": ["model=dcgan"]}))
    assert [one["id"] for one in found["runs"]] == [run.id]


def test_what_many_runs_answer_together(context: Context, call: Callable[..., Any]) -> None:
    claim = pairs.stated(context)
    pairs.play(context, claim, lambda treated, _: 1.0 if treated else 1.6, lambda *_: 5.0)
    shown = answer(call("show_claim", {"claim": "latest"}))
    assert (shown["status"], shown["conditions"][0]["status"]) == ("supported", "supported")
    assert shown["caveats"]
    assert [one["id"] for one in answer(call("list_claims", {}))["items"]] == [claim.id]

    search = start(context, runs=22, parallel=22)
    driver.advance(context)
    trials = answer(call("show_search", {"search": search.id}))["trials"]
    train(context.engine, trials[3]["run"])
    train(context.engine, trials[5]["run"])
    shown = answer(call("show_search", {"search": search.id}))
    assert shown["trials_shown"] == "the best 20 of 22"
    first, second, third = (trial["value"] for trial in shown["trials"][:3])
    assert (shown["best"]["value"], third) == (first, None)
    assert first < second
    assert [one["id"] for one in answer(call("list_searches", {}))["items"]] == [search.id]

    launched, _ = study.launch(context, SMALL)
    shown = answer(call("show_study", {"study": "latest"}))
    assert (shown["id"], shown["finished"]) == (launched.id, 0)
    assert {one["verdict"] for one in shown["results"]} == {
        "cannot be tested here",
        "too little data",
    }
    assert [one["id"] for one in answer(call("list_studies", {}))["items"]] == [launched.id]
    assert "There is no study 'nosuch'" in error(call("show_study", {"study": "nosuch"}))


def test_images_are_images(call: Callable[..., Any], make_run: MakeRun) -> None:
    run = make_run(epochs=2)
    shown = call("show_images", {"run": run.id}).content[0]
    assert (shown.type, shown.mime_type) == ("image", "image/png")
    assert "has no images of epoch 9" in error(call("show_images", {"run": run.id, "epoch": 9}))


def test_errors_are_sentences(call: Callable[..., Any]) -> None:
    assert error(call("show_run", {"run": "nosuch"})).startswith(
        "Error executing tool show_run: There is no run 'nosuch'"
    )


def test_changes_are_made_and_recorded(
    context: Context, call: Callable[..., Any], make_run: MakeRun
) -> None:
    launch = {"preset": "tiny", "settings": {"epochs": 2}, "tags": ["by-assistant"]}
    assert "Unknown tool" in error(call("launch_run", launch))
    run = answer(call("launch_run", launch, changes=True))
    assert queries.find_run(context.engine, run["id"]).config["epochs"] == 2
    noted = answer(call("annotate_run", {"run": run["id"], "note": "why", "tags": []}, True))
    assert (noted["note"], noted["tags"]) == ("why", [])
    assert answer(call("stop_run", {"run": run["id"]}, True))["status"] == "stopped"
    assert "batch_size=0" in error(
        call("clone_run", {"run": run["id"], "settings": {"batch_size": 0}}, True)
    )
    with reading(context.engine) as session:
        entries = session.exec(select(AuditEntry).order_by(col(AuditEntry.id))).all()
    assert [(one.token_id, one.action.split("/")[0], one.status) for one in entries] == [
        ("assistant", "POST ", 201),
        ("assistant", "PATCH ", 200),
        ("assistant", "POST ", 200),
        ("assistant", "POST ", 400),
    ]


def test_answers_are_json(call: Callable[..., Any], make_run: MakeRun) -> None:
    make_run()
    text = call("list_settings", {}).content[0].text
    assert json.loads(text)["presets"]
