"""A run as server-sent events, from a real server: a client's answer is read while it is made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from ganboard.db.models import Run
from ganboard.db.runs import commands, trash
from ganboard.worker.api import application
from ganboard.worker.api.callers import Access
from ganboard.worker.api.contract import Caller
from ganboard.worker.api.routes import stream
from ganboard.worker.context import Context
from tests.real_server import served
from tests.unit.db.stored_runs import finish_epoch, quality, training

MakeRun = Callable[..., Run]
Event = tuple[str, str, Any]  # kind, id, data


@pytest.fixture
def server(context: Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its address."""
    monkeypatch.setattr(stream, "POLL_SECONDS", 0.05)
    app = application.make(Access(lambda: context, lambda _: Caller("olga", "read")))
    with served(app) as url:
        yield url


def events(server: str, run_id: str, last: str = "") -> Iterator[Event]:
    """What the stream says until it ends, as a browser's EventSource reads it."""
    headers = {"Last-Event-ID": last} if last else {}
    with httpx.stream("GET", f"{server}/runs/{run_id}/stream", headers=headers, timeout=20) as got:
        assert got.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in got.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                data = json.loads(fields["data"]) if "data" in fields else None
                yield fields.get("event", ""), fields.get("id", ""), data
                fields = {}


def test_an_ended_run_is_told_whole_and_then_ends(server: str, make_run: MakeRun) -> None:
    run = make_run(epochs=3, quality_every=2)
    found = list(events(server, run.id[:6]))
    by_kind: dict[str, list[Any]] = {}
    for kind, _, data in found:
        by_kind.setdefault(kind, []).append(data)
    assert [epoch["epoch"] for epoch in by_kind["epoch"]] == [1, 2, 3]
    assert [one["epoch"] for one in by_kind["quality"]] == [2, 3]
    assert by_kind["event"]
    assert [one["status"] for one in by_kind["run"]] == ["finished"]
    assert found[-1][0] == "end"


def test_a_client_that_reconnects_gets_the_rest(server: str, make_run: MakeRun) -> None:
    run = make_run(epochs=3, quality_every=2)
    whole = [event for event in events(server, run.id) if event[1]]
    for index, (_, position, _) in enumerate(whole):
        rest = [event for event in events(server, run.id, position) if event[1]]
        assert rest == whole[index + 1 :]
    assert [event for event in events(server, run.id, "nonsense") if event[1]] == whole


def test_what_happens_arrives_while_it_happens(context: Context, server: str) -> None:
    own = training(context.engine)
    stream_of = events(server, own["run_id"])

    def until(kind: str) -> Any:
        return next(data for found, _, data in stream_of if found == kind)

    assert until("run")["status"] == "running"
    finish_epoch(context.engine, own, 1)
    assert until("epoch")["epoch"] == 1
    quality(context.engine, own, 1)
    assert until("quality")["epoch"] == 1
    commands.finish(context.engine, **own, status="finished")
    assert until("end")["status"] == "finished"
    assert list(stream_of) == []


def test_a_deleted_run_ends_its_stream(context: Context, server: str) -> None:
    own = training(context.engine)
    stream_of = events(server, own["run_id"])
    next(stream_of)
    commands.finish(context.engine, **own, status="stopped")
    trash.move(context.engine, run_id=own["run_id"])
    assert [kind for kind, _, _ in stream_of][-1] == "end"


def test_streams_are_limited(
    server: str, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    monkeypatch.setattr(stream, "MAX_STREAMS", 0)
    answer = httpx.get(f"{server}/runs/{run.id}/stream")
    assert (answer.status_code, set(answer.json())) == (503, {"error"})
    assert httpx.get(f"{server}/runs/nosuch/stream").status_code == 503
    monkeypatch.setattr(stream, "MAX_STREAMS", 1)
    assert httpx.get(f"{server}/runs/nosuch/stream").status_code == 404
    assert list(events(server, run.id))[-1][0] == "end"
