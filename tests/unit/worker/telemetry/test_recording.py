"""Spans made of the database, and of what a trainer reports; sent by the real exporter."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import numpy as np
import pytest

from ganboard.db.models import Run
from ganboard.db.runs import commands, expiry
from ganboard.gan.events import EpochDone, Event, Note, Phase, Saved, Steps
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from ganboard.worker.telemetry import environment, recording, tracer
from ganboard.worker.telemetry.attempts import TAKEN_OVER
from ganboard.worker.telemetry.tracer import Tracer
from tests.otlp import OtlpReceiver

CONFIG = load("tiny").model_dump(mode="json")
LOSSES = np.zeros(4, np.float32)
START: list[Event] = [
    Phase("importing"),
    Phase("importing"),  # the loop repeats it
    Phase("loading"),
    Phase("building"),
    Phase("compiling"),
    Phase("training"),
]
DONE = EpochDone(1, 0.5, 1.5, 2.0, 0.1, 128, (0.0, 0.0), (0.0, 0.0))


def submitted(context: Context) -> Run:
    return commands.create_run(context.engine, name="one", config=CONFIG, preset="tiny")


def claim(context: Context, run: Run, *, seconds: float = 60.0) -> int:
    claimed = commands.claim(context.engine, run_id=run.id, worker="test", lease_seconds=seconds)
    assert claimed is not None
    return claimed.attempt


def names(receiver: OtlpReceiver) -> list[str]:
    return sorted(span.name for span in receiver.spans)


def trained(context: Context, *events: Event) -> None:
    run = submitted(context)
    with recording.of_training(context, run.id, claim(context, run)) as spans:
        assert spans is not None
        for event in events:
            spans(event)


def test_submission_queue_and_attempt_come_from_the_database(
    context: Context, receiver: OtlpReceiver
) -> None:
    run = submitted(context)
    attempt = claim(context, run)
    with recording.of_attempt(context, run.id, attempt):
        commands.finish(
            context.engine, run_id=run.id, attempt=attempt, status="failed", error="Disk full."
        )
    assert names(receiver) == ["attempt", "queue", "submit"]
    assert receiver.one("submit").attributes["ganboard.preset"] == "tiny"
    ended = receiver.one("attempt")
    assert ended.error == "Disk full."
    assert ended.attributes["ganboard.outcome"] == "failed"
    assert ended.events == ("Attempt 1 started on test.", "Disk full.")


def test_a_death_in_the_start_ends_that_too(context: Context, receiver: OtlpReceiver) -> None:
    run = submitted(context)
    attempt = claim(context, run)
    with recording.of_attempt(context, run.id, attempt) as watched:
        watched.phase = "building"
        expiry.died(context.engine, run_id=run.id, attempt=attempt, cause="Killed")
    start, ended = receiver.one("start"), receiver.one("attempt")
    assert start.parent == ended.id
    assert start.error == ended.error == "Killed. Resuming from the latest checkpoint."


def test_an_attempt_whose_lease_ran_out_is_sent_by_who_says_so(
    context: Context, receiver: OtlpReceiver
) -> None:
    run = submitted(context)
    claim(context, run, seconds=-1)
    assert expiry.expire_leases(context.engine) == [run.id]
    recording.died(run.id, 1)
    ended = receiver.one("attempt")
    assert ended.error is not None
    assert ended.error.startswith("The lease of attempt 1 expired")


def test_an_attempt_that_was_taken_over_is_sent_by_the_next(
    context: Context, receiver: OtlpReceiver
) -> None:
    run = submitted(context)
    claim(context, run, seconds=-1)
    attempt = claim(context, run)
    with recording.of_attempt(context, run.id, attempt):
        commands.finish(context.engine, run_id=run.id, attempt=attempt, status="finished")
    first, second = receiver.named("attempt")
    assert (first.error, second.error) == (TAKEN_OVER, None)
    assert second.links == (first.id,)
    assert receiver.named("queue") == []  # it never waited again


def test_an_attempt_that_another_has_overtaken_is_not_sent(
    context: Context, receiver: OtlpReceiver
) -> None:
    run = submitted(context)
    with recording.of_attempt(context, run.id, claim(context, run, seconds=-1)):
        claim(context, run)
    assert names(receiver) == ["queue", "submit"]


def test_a_suspended_attempt_is_sent_though_the_next_has_begun(
    context: Context, receiver: OtlpReceiver
) -> None:
    run = submitted(context)
    with recording.of_attempt(context, run.id, claim(context, run)):
        commands.finish(context.engine, run_id=run.id, attempt=1, status="suspended")
        claim(context, run)  # by another worker, before this process has ended
    ended = receiver.one("attempt")
    assert (ended.attributes["ganboard.outcome"], ended.error) == ("suspended", None)


def test_phases_epochs_and_checkpoints_are_spans(context: Context, receiver: OtlpReceiver) -> None:
    trained(
        context,
        *START,
        Steps(1, 0, LOSSES, LOSSES),
        Note("info", "text"),
        DONE,
        Phase("saving"),
        Saved(4, 1, "digest", 99),
        Phase("training"),
        Steps(2, 0, LOSSES, LOSSES),
    )
    parts = ["build networks", "compile step", "import TensorFlow", "load data"]
    assert names(receiver) == sorted([*parts, "start", "epoch", "epoch", "save checkpoint"])
    start = receiver.one("start")
    assert {receiver.one(name).parent for name in parts} == {start.id}
    assert receiver.one("save checkpoint").attributes["ganboard.bytes"] == 99
    assert {span.parent for span in receiver.named("epoch")} == {start.parent}
    first, second = receiver.named("epoch")
    assert first.attributes["ganboard.g_loss"] == 0.5
    assert second.attributes["ganboard.epoch.complete"] is False
    assert first.begin >= receiver.one("compile step").end


def test_steps_that_are_reported_again_begin_no_epoch(
    context: Context, receiver: OtlpReceiver
) -> None:
    restored = Steps(1, 0, LOSSES, LOSSES)
    events = [*START[:4], restored, *START[4:], Steps(1, 4, LOSSES, LOSSES), DONE]
    trained(context, *events)
    assert receiver.one("epoch").begin >= receiver.one("start").end


def test_a_sampler_decides_for_the_whole_trace(
    context: Context, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0")
    trained(context, *START)
    assert receiver.asked == 0


def test_service_and_resource_can_be_named(
    context: Context, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "lab")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    trained(context, *START)
    resource = receiver.one("start").resource
    assert resource["service.name"] == "lab"
    assert resource["deployment.environment.name"] == "test"


def test_an_outage_is_logged_once_and_its_end_too(
    receiver: OtlpReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = 400  # not retried
    opened = Tracer("abc")
    (processor,) = opened._provider._active_span_processor._span_processors

    def sent(*statuses: int) -> None:
        for receiver.status in statuses:
            opened.span("epoch", 1.0, 2.0, parent=1)
            processor.force_flush()

    with caplog.at_level(logging.INFO):
        sent(400, 400, 200)
    opened.close()
    own = texts(caplog, "ganboard.telemetry")
    assert [text.split(" to ")[0] for text in own] == ["Traces cannot be sent", "Traces are sent"]
    assert len(texts(caplog, "opentelemetry")) == 1  # the reason
    assert environment.place() in own[0]


def test_a_collector_that_does_not_answer_holds_up_neither_steps_nor_the_end(
    context: Context,
    receiver: OtlpReceiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(tracer, "CLOSE_SECONDS", 0.2)
    receiver.silent = True
    began = time.monotonic()
    trained(context, *START, *[Steps(1, 0, LOSSES, LOSSES), DONE] * 1000)
    assert receiver.asked
    assert time.monotonic() - began < 20  # its timeout of 10 s would take all batches much longer
    assert "are given up" in texts(caplog, "ganboard.telemetry")[-1]


def texts(caplog: pytest.LogCaptureFixture, logger: str) -> Sequence[str]:
    return [one.getMessage() for one in caplog.records if one.name.startswith(logger)]


def test_a_trainer_without_the_packages_trains_on(
    context: Context, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with recording.of_training(context, "abc", 1) as spans:
        assert spans is None
    (text,) = texts(caplog, "ganboard.telemetry")
    assert text.endswith("The run trains without traces.")
