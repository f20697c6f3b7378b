"""/metrics and the health checks, read as Prometheus and a container's supervisor read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from ganboard.app.web import health, metrics
from ganboard.db.models import STATUSES, Run
from ganboard.db.runs import commands
from ganboard.worker.context import Context
from tests.factories import make_worker

MakeRun = Callable[..., Run]
REQUEST = Request({"type": "http", "headers": [(b"host", b"127.0.0.1")]})


def scrape() -> dict[str, Any]:
    """The figures by name, or by name and label."""
    answer = metrics.metrics(REQUEST)
    assert answer.media_type is not None
    assert answer.media_type.startswith("text/plain")
    found: dict[str, Any] = {}
    for family in text_string_to_metric_families(bytes(answer.body).decode()):
        assert family.documentation
        for sample in family.samples:
            found[
                (
                    " ".join([sample.name, *sample.labels.values()])
                    if sample.name.startswith("ganboard")
                    else sample.name
                )
            ] = sample.value
            if sample.name.startswith("ganboard"):
                assert (family.type == "counter") == sample.name.endswith("_total")
    return found


@pytest.fixture(autouse=True)
def fresh(context: Context) -> Iterator[None]:
    """A registry that has seen no other test's database."""
    before, metrics.REGISTRY = metrics.REGISTRY, metrics.CollectorRegistry()
    metrics.REGISTRY.register(metrics.Platform())
    metrics.ProcessCollector(registry=metrics.REGISTRY)
    yield
    metrics.REGISTRY = before


def test_what_is_exported(context: Context, make_run: MakeRun) -> None:
    make_run(epochs=3, steps_per_epoch=4, batch_size=32)
    make_run(status="queued")
    make_worker(context)
    found = scrape()
    assert found["ganboard_database_up"] == 1
    assert {status: found[f"ganboard_runs {status}"] for status in STATUSES} == {
        **dict.fromkeys(STATUSES, 0),
        "finished": 1,
        "queued": 1,
    }
    assert found["ganboard_epochs_total"] == 3
    assert found["ganboard_images_total"] == 3 * 4 * 32
    assert found["ganboard_attempts_total"] == 1
    assert found["ganboard_events_total info"] >= 3
    assert found["ganboard_workers_alive"] == 1
    assert found["ganboard_checkpoint_bytes"] == 30 << 20
    assert found["ganboard_disk_free_bytes"] > 0
    assert found["ganboard_queue_oldest_seconds"] >= 0
    assert found["process_resident_memory_bytes"] > 0


def test_counters_never_fall_when_runs_are_deleted(context: Context, make_run: MakeRun) -> None:
    first, _ = make_run(epochs=3), make_run(epochs=2)
    before = scrape()
    commands.delete_run(context.engine, run_id=first.id)
    after = scrape()
    make_run(epochs=1)
    later = scrape()
    assert (
        before["ganboard_epochs_total"],
        after["ganboard_epochs_total"],
        later["ganboard_epochs_total"],
    ) == (5, 5, 6)
    assert after["ganboard_runs finished"] == 1


def test_a_database_that_is_unavailable_is_reported(
    home: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANBOARD_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    found = scrape()
    assert found["ganboard_database_up"] == 0
    assert "ganboard_workers_alive" not in found
    for answer in (health.health(REQUEST), health.ready(REQUEST)):
        assert answer.status_code == 503
        assert json.loads(bytes(answer.body))["status"] == "unhealthy"


def test_ready_lists_all_parts_and_is_200_when_only_they_are_missing(
    context: Context, make_run: MakeRun
) -> None:
    make_run(status="queued")
    answer = health.ready(REQUEST)
    body = json.loads(bytes(answer.body))
    assert answer.status_code == 200
    assert body["status"] == "warn"
    checks = {check["name"]: check for check in body["checks"]}
    assert {"database", "home", "queue", "workers", "inference worker"} <= set(checks)
    assert checks["workers"]["text"] == "none running, and 1 run in the queue"
    assert all(check["remedy"] for check in body["checks"] if check["status"] != "ok")


def test_a_disk_that_cannot_be_asked_has_no_figure(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(metrics.shutil, "disk_usage", broken)
    found = scrape()
    assert found["ganboard_database_up"] == 1
    assert "ganboard_disk_free_bytes" not in found
