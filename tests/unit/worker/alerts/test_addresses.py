"""Addresses: what is allowed, and what of them is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ganboard.db.errors import BadAlert
from ganboard.db.settings import Settings
from ganboard.worker.alerts import addresses
from ganboard.worker.alerts.addresses import Mail

MAIL = Mail("mail.example.org", "lab@example.org", ("me@example.org", "you@lab.example"))


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://hooks.slack.com/services/T00/B00/XYZabcd", "https://hooks.slack.com/…abcd"),
        ("https://h.example:8443/a?sig=0123456789", "https://h.example:8443/…6789"),
        (" https://h.example/short ", "https://h.example/…"),
        ("http://127.0.0.1:9000/long/enough/x", "http://127.0.0.1:9000/…gh/x"),
        ("http://localhost/hook", "http://localhost/…"),
    ],
)
def test_a_webhook_shows_its_host_and_its_end(address: str, shown: str) -> None:
    assert addresses.check_webhook(Settings(), address) == shown


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "address",
    [
        "",
        "hooks.slack.com/services/verysecret",
        "ftp://host/verysecret",
        "file:///verysecret",
        "https:///verysecret",
        "http://host.example/verysecret",
        "http://169.254.169.254/verysecret",
        "http://127.0.0.1.example/verysecret",
        "https://user:verysecret@host.example/",
        "https://host.example/verysecret#x",
        "https://host.example/very secret",
        "https://host.example/verysecret\r\nX: y",
        "https://host.example:99999/verysecret",
        "https://[::1/verysecret",
        "https://host.example/vérysecret",
        "https://host.example/" + "verysecret" * 300,
    ],
)
def test_an_address_is_refused_without_being_said(address: str) -> None:
    with pytest.raises(BadAlert) as raised:
        addresses.check_webhook(Settings(), address)
    assert "verysecret" not in str(raised.value)


@pytest.mark.usefixtures("home")
def test_a_host_can_be_named_that_needs_no_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANBOARD_ALERT_PLAIN_HOSTS", "chat.lab, Mail.Example.Org")
    settings = Settings()
    assert addresses.check_webhook(settings, "http://CHAT.lab/hooks/123") == "http://chat.lab/…"
    assert addresses.check_mail(settings, replace(MAIL, security="none"), "")[1]["port"] == 25
    with pytest.raises(BadAlert, match="GANBOARD_ALERT_PLAIN_HOSTS"):
        addresses.check_webhook(settings, "http://other.lab/hooks")


@pytest.mark.usefixtures("home")
def test_mail_shows_server_and_domains() -> None:
    masked, options = addresses.check_mail(Settings(), MAIL, "")
    assert masked == "mail.example.org:587, to 2 at example.org, lab.example"
    assert (options["port"], options["security"], options["user"]) == (587, "starttls", "")
    assert addresses.check_mail(Settings(), replace(MAIL, security="tls"), "")[1]["port"] == 465


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("change", "password", "says"),
    [
        ({"host": ""}, "", "name of a mail server"),
        ({"host": "a b"}, "", "name of a mail server"),
        ({"security": "ssl"}, "", "choose from starttls, tls, none"),
        ({"security": "none"}, "", "would not be encrypted"),
        ({"port": 70000}, "", "Port 70000"),
        ({"recipients": ()}, "", "0 recipients"),
        ({"recipients": ("a@b.example",) * 21}, "", "21 recipients"),
        ({"recipients": ("nobody",)}, "", "'nobody' is not an e-mail address"),
        ({"sender": "a@b.example\nBcc: c@d.example"}, "", "not an e-mail address"),
        ({"sender": "ü@b.example"}, "", "not an e-mail address"),
        ({}, "verysecret", "no user name"),
        ({"host": "localhost", "security": "none", "user": "x"}, "verysecret", "without encryp"),
    ],
)
def test_mail_that_cannot_be_sent_is_refused(
    change: dict[str, object], password: str, says: str
) -> None:
    with pytest.raises(BadAlert, match=says) as raised:
        addresses.check_mail(Settings(), replace(MAIL, **change), password)  # type: ignore[arg-type]
    assert "verysecret" not in str(raised.value)


def test_addresses_are_split_at_commas_and_lines() -> None:
    assert addresses.split_addresses(" a@b, c@d;e@f\ng@h ") == ("a@b", "c@d", "e@f", "g@h")
