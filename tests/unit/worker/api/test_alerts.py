"""Alerts through the REST API: channels whose secrets are never answered, rules, deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from ganboard.db.alerts import channels, deliveries, rules
from ganboard.worker.context import Context
from tests.receivers import WebReceiver, web_receiver
from tests.unit.worker.api.conftest import MakeClient
from tests.unit.worker.api.test_runs import refused

MAIL = {"host": "mail.example.org", "sender": "g@example.org", "recipients": ["me@example.org"]}


@pytest.fixture
def receiver() -> Iterator[WebReceiver]:
    with web_receiver() as found:
        yield found


def added(client: TestClient, **values: Any) -> Any:
    answer = client.post("/alerts/channels", json={"name": "lab", "kind": "webhook"} | values)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_channel_is_tested_and_its_secret_never_shown(
    client: TestClient, client_of: MakeClient, receiver: WebReceiver
) -> None:
    channel = added(client, secret=receiver.url)
    assert channel["address"].endswith("…word")
    assert client.post("/alerts/channels/lab/test").json() == {"sent": True, "error": None}
    receiver.status = 404
    failed = client.post(f"/alerts/channels/{channel['id']}/test").json()
    assert (failed["sent"], "refused the message (404" in failed["error"]) == (False, True)
    assert len(receiver.got) == 2
    first = client_of(None).get("/alerts/deliveries", params={"limit": 1}).json()
    (second,) = client.get("/alerts/deliveries", params={"after": first["next"]}).json()["items"]
    (newest,) = first["items"]
    assert (newest["state"], second["state"]) == (deliveries.GAVE_UP, deliveries.SENT)
    assert (second["channel"], second["event"], second["rule"]) == ("lab", "test", None)
    texts = [client.get(f"/alerts/{what}").text for what in ("channels", "rules", "deliveries")] + [
        client.get("/audit").text
    ]
    assert not any("verysecretword" in text for text in texts)


def test_channels_are_changed_and_deleted(
    client: TestClient, context: Context, receiver: WebReceiver
) -> None:
    channel = added(client, secret=receiver.url)
    address = f"/alerts/channels/{channel['id']}"
    assert client.patch(address, json={"name": "team"}).json()["name"] == "team"
    assert channels.secret(context.engine, channel["id"]) == receiver.url
    other = f"{receiver.url}/longer/end"
    assert client.patch(address, json={"secret": other}).json()["address"].endswith("…/end")
    assert channels.secret(context.engine, channel["id"]) == other
    assert client.patch(address, json={"enabled": False}).json()["enabled"] is False
    assert [one["enabled"] for one in client.get("/alerts/channels").json()] == [False]
    client.post("/alerts/rules", json={"channel": "team", "event": "failed"})
    assert client.delete(address).status_code == 204
    assert "There is no channel" in refused(client.delete(address), 404)
    assert client.get("/alerts/rules").json() == []


def test_a_mail_server_is_changed_in_parts(client: TestClient, context: Context) -> None:
    mail = MAIL | {"user": "lab"}
    channel = added(client, kind="email", secret="a password", mail=mail)
    assert channel["address"] == "mail.example.org:587, to 1 at example.org"
    address = f"/alerts/channels/{channel['id']}"
    more = {"recipients": ["me@example.org", "you@example.net"], "security": "tls"}
    assert "Enter the password again" in refused(client.patch(address, json={"mail": more}), 400)
    changed = client.patch(address, json={"mail": more, "secret": "a password"}).json()
    assert changed["address"] == "mail.example.org:465, to 2 at example.net, example.org"
    assert client.patch(address, json={"name": "post"}).json()["address"] == changed["address"]
    assert channels.secret(context.engine, channel["id"]) == "a password"
    assert "a password" not in client.get("/alerts/channels").text


def test_rules(client: TestClient, context: Context) -> None:
    added(client, secret="https://example.org/hook/abcdefgh")
    other = added(client, name="night", secret="https://example.org/hook/ijklmnop")
    rule = client.post(
        "/alerts/rules",
        json={"channel": "lab", "event": "metric", "condition": "fid<5", "search": "tag:paper"},
    )
    assert rule.status_code == 201, rule.text
    address = f"/alerts/rules/{rule.json()['id']}"
    assert rule.json()["about"] == "A condition holds: fid<5, of runs with tag:paper"
    changed = client.patch(address, json={"condition": "fid<4"}).json()
    assert (changed["condition"], changed["search"]) == ("fid<4", "tag:paper")
    began = rules.find(context.engine, rule.json()["id"]).since
    assert client.patch(address, json={"enabled": False}).json()["enabled"] is False
    assert client.patch(address, json={"enabled": True}).json()["condition"] == "fid<4"
    assert rules.find(context.engine, rule.json()["id"]).since >= began
    changed = client.patch(
        address, json={"event": "no_progress", "channel": other["id"], "search": ""}
    ).json()
    assert [changed[name] for name in ("condition", "minutes", "search", "channel")] == [
        *(None, 30, None),
        "night",
    ]
    assert [one["id"] for one in client.get("/alerts/rules").json()] == [changed["id"]]
    assert client.delete(address).status_code == 204
    assert client.get("/alerts/rules").json() == []
    assert "There is no rule" in refused(client.patch(address, json={}), 404)


def test_what_is_refused(client: TestClient, client_of: MakeClient) -> None:
    added(client, secret="https://example.org/hook/abcdefgh")
    for body, sentence in (
        ({"name": "lab", "kind": "slack", "secret": "https://a.example/b"}, "already exists"),
        ({"name": "b", "kind": "pager"}, "kind: input should be 'slack'"),
        ({"name": "b", "kind": "slack"}, "The address is not one such as https://"),
        ({"name": "b", "kind": "slack", "secret": "http://a.example/b"}, "is not encrypted"),
        ({"name": "", "kind": "slack", "secret": "https://a.example/b"}, "0 characters"),
        ({"name": "b", "kind": "email"}, "needs a server, a sender and recipients"),
        ({"name": "b", "kind": "email", "mail": {}}, "is not the name of a mail server"),
        ({"name": "b", "kind": "email", "mail": MAIL | {"port": 0}}, "mail.port"),
    ):
        assert sentence in refused(client.post("/alerts/channels", json=body), 400)
    for body, status, sentence in (
        ({"channel": "nosuch", "event": "failed"}, 404, "There is no channel 'nosuch'"),
        ({"channel": "lab", "event": "metric"}, 400, "The condition is empty"),
        ({"channel": "lab", "event": "failed", "minutes": 3}, 400, "Minutes are for rules on"),
        ({"channel": "lab", "event": "failed", "condition": "fid<5"}, 400, "A condition is for"),
        ({"channel": "lab", "event": "failed", "search": "fid<<"}, 400, "fid is a number"),
        ({"channel": "lab", "event": "no_progress", "minutes": 0}, 400, "minutes: input should"),
    ):
        assert sentence in refused(client.post("/alerts/rules", json=body), status)
    reader = client_of("read")
    assert "scope write" in refused(reader.post("/alerts/channels/lab/test"), 403)
    assert [one["name"] for one in reader.get("/alerts/channels").json()] == ["lab"]
