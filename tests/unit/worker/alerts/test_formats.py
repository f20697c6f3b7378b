"""What Slack, Teams, Discord, mail and programs get: complete, within limits, without markup from
names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ganboard.worker.alerts import formats
from ganboard.worker.alerts.messages import Message

EVIL = "<!channel> @everyone [x](https://evil.example) **b** <@U1> `c` https://evil.example"


def message(title: str = "paper failed", text: str = "The disk is full.", **values: Any) -> Message:
    given: dict[str, Any] = {
        "id": "abc",
        "title": title,
        "text": text,
        "facts": (("State", "failed"), ("g_loss", "0.5")),
        "link": "https://ganboard.example/run?run=abc",
        "good": False,
        "alerts": ({"event": "failed", "run": "abc"},),
    }
    return Message(**{**given, **values})


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("kind", formats.BODIES)
def test_every_format_has_all_that_is_to_be_said(kind: str) -> None:
    body = formats.BODIES[kind](message())
    said = "\n".join(strings(json.loads(json.dumps(body)))).replace("\\", "")
    for part in ("paper failed", "The disk is full.", "https://ganboard.example/run?run=abc"):
        assert part in said
    if kind != "webhook":
        assert "State" in said
        assert "0.5" in said
    bare = formats.BODIES[kind](message(text="", facts=(), link=""))
    assert "http" not in json.dumps(bare).replace(formats.TEAMS_SCHEMA, "")


def test_slack_reads_no_markup() -> None:
    body = formats.slack(message(title=EVIL, text=EVIL))
    texts = [block["text"] for block in body["blocks"] if "text" in block]
    assert {text["type"] for text in texts} == {"plain_text"}
    assert "<" not in body["text"]
    assert "&lt;!channel&gt;" in body["text"]


def test_teams_shows_text_runs_alone() -> None:
    body = formats.teams(message(title=EVIL, text=f"{EVIL}\nsecond"))
    (attachment,) = body["attachments"]
    assert (body["type"], attachment["contentType"]) == (
        "message",
        "application/vnd.microsoft.card.adaptive",
    )
    card = attachment["content"]
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    runs = [run for block in card["body"] for run in block["inlines"]]
    assert {run["type"] for run in runs} == {"TextRun"}
    assert [run["text"] for run in runs] == [EVIL, EVIL, "second", "State: failed, g_loss: 0.5"]


def test_discord_mentions_nobody() -> None:
    body = formats.discord(message(title=EVIL, text=EVIL))
    assert body["allowed_mentions"] == {"parse": []}
    for text in (body["content"], body["embeds"][0]["description"]):
        assert "](http" not in text
        assert "**b**" not in text
        assert "https://evil" not in text
    assert body["embeds"][0]["color"] == formats.RED
    assert formats.discord(message(good=True))["embeds"][0]["color"] == formats.GREEN


def test_long_text_is_cut_to_what_services_accept() -> None:
    long = message(title="t" * 5000, text="x" * 9000, facts=(("a", "v" * 5000),))
    slack = formats.slack(long)
    assert len(slack["blocks"][0]["text"]["text"]) == 150
    assert len(slack["blocks"][1]["text"]["text"]) == 3000
    embed = formats.discord(long)["embeds"][0]
    assert len(embed["title"]) <= 256
    assert len(embed["description"]) <= 4096
    assert len(embed["fields"][0]["value"]) <= 1024
    whole = (
        embed["title"]
        + embed["description"]
        + "".join(one["name"] + one["value"] for one in embed["fields"])
    )
    assert len(whole) <= 6000


def test_mail_has_one_identity_and_no_header_of_others() -> None:
    letter = formats.mail(
        message(title="a\nBcc: eve@example.org"),
        sender="lab@example.org",
        recipients=("me@example.org", "you@example.org"),
    )
    assert letter["Bcc"] is None
    assert letter["Subject"] == "ganboard: a Bcc: eve@example.org"
    assert letter["To"] == "me@example.org, you@example.org"
    assert letter["Message-ID"] == "<abc@ganboard.invalid>"
    assert letter.get_content_type() == "text/plain"
    body = letter.get_content()
    assert "The disk is full." in body
    assert "State: failed\ng_loss: 0.5" in body
    assert "https://ganboard.example/run?run=abc" in body


def test_programs_get_numbers() -> None:
    assert formats.webhook(message()) == {
        "version": 1,
        "id": "abc",
        "title": "paper failed",
        "text": "The disk is full.",
        "link": "https://ganboard.example/run?run=abc",
        "alerts": [{"event": "failed", "run": "abc"}],
    }
