"""The process that sends: from an event to the receiver, with failures, restarts and several of
it."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from sqlalchemy import update

from ganboard.db import heartbeats
from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.engine import make_engine, writing
from ganboard.db.models import ALERTS, AlertChannel, AlertDelivery, AlertSecret
from ganboard.db.runs import commands
from ganboard.worker.alerts import configuration, sender
from ganboard.worker.alerts.sender import Sender
from ganboard.worker.context import Context
from tests.polling import wait_until
from tests.receivers import WebReceiver
from tests.unit.db.stored_runs import in_status, submitted, training


@pytest.fixture
def channel(anywhere: Context, receiver: WebReceiver) -> AlertChannel:
    """A channel with a rule on runs that fail."""
    added = configuration.add_channel(anywhere, name="lab", kind="webhook", secret=receiver.url)
    rules.add(anywhere.engine, channel_id=added.id, event=rules.FAILED)
    return added


def state(context: Context) -> tuple[str, int, str | None]:
    (one,) = deliveries.latest(context.engine, limit=9)
    return one.state, one.tries, one.error


def due_now(context: Context) -> None:
    with writing(context.engine) as session:
        session.execute(update(AlertDelivery).values(next_try_at=AlertDelivery.created_at))


def test_a_run_that_fails_is_told_once(
    anywhere: Context, channel: AlertChannel, receiver: WebReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANBOARD_PUBLIC_URL", "https://ganboard.example/")
    context = Context(type(anywhere.settings)(), anywhere.engine)
    here = Sender(context)
    assert here.round() == 0
    run_id = in_status(anywhere.engine, "failed")
    assert here.round() == 1
    assert here.round() == Sender(context).round() == 0
    (body,) = receiver.got
    assert body["title"] == "a run failed"
    assert body["text"] == "It broke."
    assert body["link"] == f"https://ganboard.example/run?run={run_id}"
    assert body["alerts"][0]["run"] == run_id
    assert state(anywhere) == (deliveries.SENT, 0, None)


def test_a_receiver_that_fails_gets_it_later_and_once(
    anywhere: Context, channel: AlertChannel, receiver: WebReceiver
) -> None:
    receiver.status = 500
    in_status(anywhere.engine, "failed")
    assert Sender(anywhere).round() == 1
    assert state(anywhere)[:2] == (deliveries.WAITING, 1)
    assert "500" in (state(anywhere)[2] or "")
    assert Sender(anywhere).round() == 0  # not before its time, by another process either
    due_now(anywhere)
    receiver.status = 200
    assert Sender(anywhere).round() == 1
    assert state(anywhere) == (deliveries.SENT, 1, None)
    assert [body["id"] for body in receiver.got] == [receiver.got[0]["id"]] * 2


def test_a_receiver_that_is_gone_is_not_asked_again(
    anywhere: Context, channel: AlertChannel, receiver: WebReceiver
) -> None:
    receiver.status = 410
    in_status(anywhere.engine, "failed")
    assert Sender(anywhere).round() == 1
    due_now(anywhere)
    assert Sender(anywhere).round() == 0
    assert state(anywhere)[0] == deliveries.GAVE_UP


def test_a_channel_without_its_secret_says_so(
    anywhere: Context, channel: AlertChannel, receiver: WebReceiver
) -> None:
    with writing(anywhere.engine) as session:
        session.delete(session.get(AlertSecret, channel.id))
    in_status(anywhere.engine, "failed")
    Sender(anywhere).round()
    assert state(anywhere) == (
        deliveries.GAVE_UP, 0, "The channel has no address. Enter it again."
    )  # fmt: skip


def test_many_at_once_become_ten_messages(
    anywhere: Context, channel: AlertChannel, receiver: WebReceiver
) -> None:
    for number in range(30):
        own = training(anywhere.engine, submitted(anywhere.engine, f"run {number}"))
        commands.finish(anywhere.engine, **own, status="failed", error="No.")
    here = Sender(anywhere)
    while here.round():
        pass
    assert len(receiver.got) == 10
    assert receiver.got[-1]["title"] == "21 further alerts"
    lines = receiver.got[-1]["text"].splitlines()
    assert len(lines) == 11
    assert lines[-1] == "and 11 more"
    assert len(receiver.got[-1]["alerts"]) == 21


def test_several_senders_tell_each_run_once(
    anywhere: Context, channel: AlertChannel, receiver: WebReceiver, url: str
) -> None:
    for _ in range(6):
        in_status(anywhere.engine, "failed")
    start = threading.Barrier(3)
    failed: list[BaseException] = []

    def work(number: int) -> None:
        own = Context(anywhere.settings, make_engine(url))
        here = Sender(own)
        here._name = f"sender {number}"  # they share a process here

        def all_told() -> bool:
            here.round()
            return len(receiver.got) >= 6

        start.wait()
        try:
            wait_until(all_told, seconds=20, every=0.01)
            here.round()
        except BaseException as error:
            failed.append(error)
        own.engine.dispose()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    ids = [body["id"] for body in receiver.got]
    assert len(ids) == len(set(ids)) == 6


def test_it_gives_a_heartbeat_and_takes_it_back(anywhere: Context) -> None:
    ended = threading.Event()
    thread = threading.Thread(target=sender.serve, args=(anywhere, ended))
    thread.start()
    alive = wait_until(lambda: heartbeats.alert_senders(anywhere.engine), seconds=10)
    assert [(one.worker.kind, one.alive) for one in alive] == [(ALERTS, True)]
    assert heartbeats.workers(anywhere.engine) == []
    ended.set()
    thread.join()
    assert heartbeats.alert_senders(anywhere.engine) == []


def test_no_secret_in_logs_and_deliveries(
    anywhere: Context,
    channel: AlertChannel,
    receiver: WebReceiver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    for status in (200, 404, 500):
        receiver.status = status
        in_status(anywhere.engine, "failed")
        Sender(anywhere).round()
    assert "Channel lab" in caplog.text
    assert "verysecretword" not in caplog.text
    rows = [one.model_dump() for one in deliveries.latest(anywhere.engine, limit=9)]
    assert len(rows) == 3
    assert "verysecretword" not in repr([*rows, *channels.listed(anywhere.engine)])


def test_the_process_sends_without_tensorflow_and_ends_when_asked(
    context: Context, make_run: Callable[..., object], receiver: WebReceiver
) -> None:
    added = configuration.add_channel(context, name="lab", kind="webhook", secret=receiver.url)
    rules.add(context.engine, channel_id=added.id, event=rules.FAILED)
    make_run("broken", status="failed")
    code = (
        "import sys\nfrom ganboard.worker.alerts import sender\ncode = sender.main()\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'tensorflow', 'keras', 'streamlit', 'redis', 'rq'}))\n"
        "sys.exit(code)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        try:
            wait_until(lambda: receiver.got, seconds=30)
            wait_until(
                lambda: deliveries.latest(context.engine, limit=1)[0].state == deliveries.SENT,
                seconds=10,
            )
        finally:
            process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert output.splitlines()[-1] == "[]"
    assert "verysecretword" not in output
    assert receiver.got[0]["title"] == "broken failed"
