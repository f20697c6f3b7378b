"""Messages as Slack, Teams, Discord, mail servers and programs take them.

Names of runs are what anybody typed: they go where the receiver reads no markup, or are escaped, so
that they mention nobody and link nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any

from ganboard.worker.alerts.messages import Message

VERSION = 1  # of the plain JSON
TEAMS_SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"
GREEN, RED = 0x1F883D, 0xCF222E
# what the services accept
SLACK_TITLE, SLACK_TEXT = 150, 3000
DISCORD_TITLE, DISCORD_TEXT, DISCORD_VALUE = 256, 3000, 200
MAIL_SUBJECT = 200


def slack(message: Message) -> dict[str, Any]:
    """https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"""
    body = _cut("\n".join(filter(None, (message.text, _line(message)))), SLACK_TEXT)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": _slack_plain(_cut(message.title, SLACK_TITLE))}
    ]
    if body:
        blocks.append({"type": "section", "text": _slack_plain(body)})
    if message.link:
        button = {"type": "button", "text": _slack_plain("Open"), "url": message.link}
        blocks.append({"type": "actions", "elements": [button]})
    text = message.title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": text, "blocks": blocks}


def teams(message: Message) -> dict[str, Any]:
    """An Adaptive Card, as a workflow "When a Teams webhook request is received" posts it. Text
    runs, unlike text blocks, know no Markdown.

    https://adaptivecards.io/explorer/TextRun.html
    """
    body = [_text_run(message.title, size="Large", weight="Bolder")]
    body += [_text_run(line) for line in message.text.splitlines() if line]
    if line := _line(message):
        body.append(_text_run(line, isSubtle=True))
    card: dict[str, Any] = {
        "$schema": TEAMS_SCHEMA,
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if message.link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open", "url": message.link}]
    kind = "application/vnd.microsoft.card.adaptive"
    attachment = {"contentType": kind, "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def discord(message: Message) -> dict[str, Any]:
    """https://docs.discord.com/developers/resources/webhook#execute-webhook"""
    embed: dict[str, Any] = {
        "title": _cut(_discord(message.title), DISCORD_TITLE),
        "description": _cut(_discord(message.text), DISCORD_TEXT),
        "color": GREEN if message.good else RED,
        "fields": [
            {"name": _discord(name), "value": _cut(_discord(value), DISCORD_VALUE), "inline": True}
            for name, value in message.facts
        ],
    }
    if message.link:
        embed["url"] = message.link
    content = _cut(_discord(message.title), DISCORD_TITLE)
    return {"content": content, "embeds": [embed], "allowed_mentions": {"parse": []}}


def webhook(message: Message) -> dict[str, Any]:
    """Plain JSON for programs: `id` is the same at every try of a message."""
    return {
        "version": VERSION,
        "id": message.id,
        "title": message.title,
        "text": message.text,
        "link": message.link or None,
        "alerts": list(message.alerts),
    }


BODIES: Mapping[str, Callable[[Message], dict[str, Any]]] = {
    "slack": slack,
    "teams": teams,
    "discord": discord,
    "webhook": webhook,
}


def mail(message: Message, *, sender: str, recipients: Sequence[str]) -> EmailMessage:
    """Plain text. The Message-ID is the same at every try, so that mail programs show it once."""
    mail = EmailMessage()
    mail["From"] = sender
    mail["To"] = ", ".join(recipients)
    mail["Subject"] = _cut(f"ganboard: {' '.join(message.title.split())}", MAIL_SUBJECT)
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<{message.id}@ganboard.invalid>"
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no answers by machines
    facts = "\n".join(f"{name}: {value}" for name, value in message.facts)
    parts = filter(None, (message.title, message.text, facts, message.link))
    mail.set_content("\n\n".join(parts) + "\n")
    return mail


def _line(message: Message) -> str:
    return ", ".join(f"{name}: {value}" for name, value in message.facts)


def _slack_plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _text_run(text: str, **style: Any) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}


def _discord(text: str) -> str:
    """Without Markdown and links; a zero-width space keeps addresses from becoming links."""
    return re.sub(r"([\\*_~`|>#\[\]()<@:-])", r"\\\1", text).replace("//", "/\u200b/")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
