"""Alerts on the command line; secrets come in by standard input or a file, and never out."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.engine import reading
from ganboard.db.models import AlertSecret, Run
from ganboard.worker.cli.main import app
from ganboard.worker.context import Context
from tests.cli import document, ganboard, refused
from tests.receivers import WebReceiver, web_receiver

MakeRun = Callable[..., Run]


@pytest.fixture
def receiver() -> Iterator[WebReceiver]:
    with web_receiver() as found:
        yield found


def add_channel(secret: str, *arguments: str, code: int = 0) -> str:
    """Add one with a secret on standard input; what was said."""
    command = ["alerts", "add-channel", *arguments]
    result = CliRunner().invoke(app, command, input=secret, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def test_without_channels_it_says_how_to_begin(context: Context) -> None:
    assert "ganboard alerts add-channel --help" in ganboard("alerts").stdout
    assert document("alerts") == {"channels": [], "rules": [], "deliveries": []}


def test_channels_and_rules_are_added_listed_switched_and_removed(
    context: Context, tmp_path: Path
) -> None:
    file = tmp_path / "address"
    file.write_text("https://hooks.example.org/services/verysecretword\n")
    added = document("alerts", "add-channel", "lab", "--kind", "slack", "--secret-file", str(file))
    assert added == {
        "id": added["id"],
        "name": "lab",
        "kind": "slack",
        "address": "https://hooks.example.org/…word",
        "enabled": True,
    }
    rule = document(
        "alerts",
        "add-rule",
        "lab",
        "--event",
        "metric",
        "--condition",
        "fid<5",
        "--search",
        "tag:x",
    )
    assert (rule["channel"], rule["event"], rule["condition"]) == ("lab", "metric", "fid<5")
    said = ganboard("alerts").stdout
    assert "lab  Slack  https://hooks.example.org/…word" in said
    assert "A condition holds: fid<5, of runs with tag:x" in said
    assert document("alerts", "off", "lab") == {"id": added["id"], "enabled": False}
    assert "…word  off" in ganboard("alerts").stdout
    assert "Switched rule" in ganboard("alerts", "off", rule["id"]).stdout
    assert not rules.find(context.engine, rule["id"]).enabled
    ganboard("alerts", "on", added["id"])
    assert channels.find(context.engine, "lab").enabled
    assert "Removed rule" in ganboard("alerts", "remove", rule["id"]).stdout
    assert "Removed channel lab" in ganboard("alerts", "remove", "lab").stdout
    with reading(context.engine) as session:
        assert session.get(AlertSecret, added["id"]) is None


def test_a_mail_server_needs_its_password_only_with_a_user(context: Context) -> None:
    server = ["--kind", "email", "--host", "mail.example.org", "--from", "a@b.example"]
    said = add_channel("", "plain", *server, "--to", "c@d.example", "--to", "e@d.example")
    assert "mail.example.org:587, to 2 at d.example" in said
    add_channel("verysecretword\n", "full", *server, "--to", "c@d.example", "--user", "lab")
    channel = channels.find(context.engine, "full")
    assert channels.secret(context.engine, channel.id) == "verysecretword"
    said = add_channel("", "none", *server, "--to", "c@d.example", "--user", "lab", code=1)
    assert "The user 'lab' needs a password." in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["add-channel", "x", "--kind", "pager", "--secret-file", "/dev/null"], "is no kind"),
        (["add-channel", "x", "--kind", "slack", "--secret-file", "/none"], "cannot be read"),
        (["add-channel", "x", "--kind", "slack", "--secret-file", "/dev/null"], "not one such as"),
        (["add-rule", "nowhere", "--event", "failed"], "no channel 'nowhere'"),
        (["test", "nowhere"], "no channel 'nowhere'"),
        (["remove", "nowhere"], "no rule 'nowhere'"),
        (["off", "nowhere"], "no rule 'nowhere'"),
    ],
)
def test_what_cannot_be_is_one_sentence(context: Context, arguments: list[str], says: str) -> None:
    assert says in refused("alerts", *arguments)


def test_a_test_message_is_sent_and_its_failure_said(
    context: Context, receiver: WebReceiver
) -> None:
    add_channel(receiver.url, "lab", "--kind", "discord")
    assert "Sent a test message to lab" in ganboard("alerts", "test", "lab").stdout
    assert receiver.got[0]["content"] == "Test message"
    receiver.status = 404
    assert "lab: The receiver refused the message (404 Not Found)" in refused(
        "alerts", "test", "lab"
    )
    found = document("alerts", "test", "lab", code=1)
    assert (found["sent"], "404" in found["error"]) == (False, True)
    states = [one["state"] for one in document("alerts")["deliveries"]]
    assert states == [deliveries.GAVE_UP, deliveries.GAVE_UP, deliveries.SENT]


def test_the_secret_comes_out_nowhere(
    context: Context,
    receiver: WebReceiver,
    make_run: MakeRun,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Commands, exports, the listing of a backup, logs."""
    caplog.set_level(logging.DEBUG)
    run = make_run()
    said = [add_channel(receiver.url, "lab", "--kind", "webhook")]
    said.append(add_channel(receiver.url, "lab", "--kind", "webhook", code=1))
    receiver.status = 500
    said.append(refused("alerts", "test", "lab"))
    for arguments in (
        ["alerts"],
        ["alerts", "--json"],
        ["alerts", "add-rule", "lab", "--event", "failed"],
        ["show", run.id, "--json"],
        ["export", run.id, str(tmp_path / "export")],
        ["backup", str(tmp_path / "backup.zip"), "--json"],
        ["doctor", "--json"],
    ):
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        said.append(result.output)
    assert len(receiver.paths) == 1
    assert "verysecretword" in receiver.paths[0]
    assert "verysecretword" not in "".join(said) + caplog.text
    exported = [path for path in (tmp_path / "export").rglob("*") if path.is_file()]
    assert exported
    assert not [path for path in exported if b"verysecretword" in path.read_bytes()]
    with zipfile.ZipFile(tmp_path / "backup.zip") as archive:
        holding = [name for name in archive.namelist() if b"verysecretword" in archive.read(name)]
    assert holding == ["ganboard.db"]  # the database itself: see docs/alerts.md
