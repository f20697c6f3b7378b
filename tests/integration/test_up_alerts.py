"""`ganboard up` sends alerts once there is a channel, and not before."""

from __future__ import annotations

import pytest

from ganboard.db import heartbeats
from ganboard.db.alerts import deliveries, rules
from ganboard.worker.alerts import configuration
from ganboard.worker.context import Context
from tests.factories import make_run
from tests.polling import wait_until
from tests.processes import below
from tests.receivers import web_receiver
from tests.up import ganboard_up

SENDER = "ganboard.worker.alerts.sender"


def states(context: Context) -> list[str]:
    return [one.state for one in deliveries.latest(context.engine, limit=9)]


@pytest.mark.thorough
@pytest.mark.slow
def test_up_starts_a_sender_with_the_first_channel(context: Context) -> None:
    with (
        web_receiver() as receiver,
        ganboard_up(context.settings.state, "--no-starter", "--workers", "0") as up,
    ):
        assert below(up.process, SENDER) == []
        channel = configuration.add_channel(
            context, name="lab", kind="webhook", secret=receiver.url
        )
        rules.add(context.engine, channel_id=channel.id, event=rules.FAILED)
        wait_until(lambda: heartbeats.alert_senders(context.engine), seconds=30)
        make_run(context, "broken", status="failed")
        wait_until(lambda: receiver.got, seconds=20)
        assert receiver.got[0]["title"] == "broken failed"
        # one that is killed before it has noted this leaves a claim for a minute
        wait_until(lambda: states(context) == [deliveries.SENT], seconds=10)
        (first,) = below(up.process, SENDER)
        first.kill()
        wait_until(
            lambda: [one for one in below(up.process, SENDER) if one.pid != first.pid],
            seconds=30,
            what="another one",
        )
        make_run(context, "again", status="failed")
        wait_until(lambda: len(receiver.got) == 2, seconds=20)
    log = (context.settings.state / "logs" / "alerts.log").read_text()
    assert "verysecretword" not in log
    assert "sent 1 alert" in log
