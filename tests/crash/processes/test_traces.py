"""Traces of real runs, sent by the real exporter and decoded from its protobuf."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from ganboard.worker.telemetry import identity
from tests.otlp import OtlpReceiver, Span, otlp_receiver

pytestmark = pytest.mark.slow

START = ["import TensorFlow", "load data", "build networks", "compile step"]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpReceiver]:
    with otlp_receiver() as opened:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", opened.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield opened


def inside(span: Span, outer: Span) -> bool:
    # the database counts milliseconds
    return span.parent == outer.id and outer.begin - 0.002 <= span.begin <= span.end <= outer.end


def test_a_run_that_was_killed_and_resumed_is_one_trace(
    context: Context, train: Callable[..., Run], receiver: OtlpReceiver
) -> None:
    run = train(
        "ganboard.gan.checkpoint.store.save:2:before", epochs=3, quality_every=3, quality_images=200
    )
    assert run.status == "finished"
    assert run.attempt == 2
    assert {span.trace for span in receiver.spans} == {f"{identity.trace_id(run.id):032x}"}
    assert {span.attributes["ganboard.run.id"] for span in receiver.spans} == {run.id}

    submit = receiver.one("submit")
    assert submit.parent == ""
    assert submit.attributes["ganboard.batch_size"] == 32
    assert submit.attributes["ganboard.model"] == run.config["model"]
    assert submit.resource["service.name"] == "ganboard"
    assert submit.resource["host.name"]

    first, second = receiver.named("attempt")
    for number, attempt in enumerate((first, second), 1):
        queue = receiver.one("queue", attempt=number)
        assert queue.parent == attempt.parent == submit.id
        assert submit.begin <= queue.begin <= queue.end <= attempt.begin + 0.002
        assert attempt.attributes["ganboard.attempt"] == number
        start = receiver.one("start", attempt=number)
        assert inside(start, attempt)
        parts = [receiver.one(name, attempt=number) for name in START]
        assert all(inside(part, start) for part in parts)
        assert [part.begin for part in parts] == sorted(part.begin for part in parts)
        assert parts[0].end - parts[0].begin > 0.5  # importing TensorFlow takes seconds
    assert first.error is not None
    assert "killed by SIGKILL" in first.error
    assert first.attributes["ganboard.outcome"] == "died"
    assert first.end <= second.begin
    assert second.error is None
    assert second.attributes["ganboard.outcome"] == "finished"
    assert second.links == (first.id,)
    assert second.events[0].startswith("Attempt 2 started on ")
    assert second.events[-1] == "Finished."

    stored = {epoch.epoch: epoch for epoch in queries.epochs(context.engine, run.id)}
    trained = receiver.named("epoch", attempt=2)
    assert [span.attributes["ganboard.epoch"] for span in trained] == [2, 3]
    for span in trained:
        row = stored[span.attributes["ganboard.epoch"]]
        assert inside(span, second)
        assert span.attributes["ganboard.g_loss"] == row.g_loss
        assert span.attributes["ganboard.d_loss"] == row.d_loss
        assert span.end == pytest.approx(row.finished_at.timestamp(), abs=0.5)
        assert span.end - span.begin >= row.seconds * 0.9
    evaluated = receiver.one("evaluate", attempt=2)
    assert inside(evaluated, second)
    (quality,) = queries.qualities(context.engine, run.id)
    assert evaluated.attributes["ganboard.seconds"] == quality.seconds
    assert evaluated.end - evaluated.begin >= quality.seconds
    saved = receiver.named("save checkpoint", attempt=2)
    assert [span.attributes["ganboard.epoch"] for span in saved] == [2, 3]


def test_a_collector_that_is_away_changes_nothing(
    context: Context, train: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    with otlp_receiver() as closed:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", closed.url)  # its port is closed then
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")  # s; the usual 10 outlast a quick run
    run = train(epochs=1)
    assert (run.status, run.attempt) == ("finished", 1)
    log = context.settings.log_path(run.id).read_text()
    assert log.count("Training is not affected") == 1
