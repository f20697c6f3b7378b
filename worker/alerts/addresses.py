"""Where alerts may go: addresses of webhooks and mail servers, checked, and what may be shown of
them."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from ganboard.db.errors import BadAlert
from ganboard.db.settings import Settings
from ganboard.worker.access import is_loopback

SECURITIES = ("starttls", "tls", "none")
PORTS = {"starttls": 587, "tls": 465, "none": 25}
ADDRESS_LENGTH = 2000
RECIPIENTS = 20
_MAIL_ADDRESS = re.compile(r"[^\s@<>,;:\"()\[\]\\]{1,64}@[A-Za-z0-9.-]{1,255}")
_HOST = re.compile(r"[A-Za-z0-9.-]{1,255}|[0-9A-Fa-f:]{2,45}")


@dataclass(frozen=True)
class Mail:
    """A mail server and who gets mail from it; its password is the channel's secret."""

    host: str
    sender: str
    recipients: tuple[str, ...]
    port: int | None = None  # None: the usual one
    security: str = "starttls"
    user: str = ""


def check_webhook(settings: Settings, address: str) -> str:
    """The address of a webhook as it may be shown: its host, and its last four characters. Raises
    BadAlert, without the address."""
    address = address.strip()
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("https", "http") or len(address) > ADDRESS_LENGTH:
        raise BadAlert("The address is not one such as https://hooks.example.org/services/...")
    if parts.username or parts.password or parts.fragment or not address.isprintable():
        raise BadAlert("The address must have no user name, no # and no blanks.")
    if not address.isascii() or " " in address:
        raise BadAlert("The address may only have ASCII characters. Copy it as the service shows.")
    if parts.scheme == "http" and not may_be_plain(settings, host):
        raise BadAlert(
            f"The address on {host[:100]} is not encrypted. Use https://, or name the host in"
            " GANBOARD_ALERT_PLAIN_HOSTS."
        )
    shown = parts.path + parts.query
    end = f"…{shown[-4:]}" if len(shown) >= 12 else "…"  # a short one would be shown whole
    return f"{parts.scheme}://{host}{port}/{end}"


def may_be_plain(settings: Settings, host: str) -> bool:
    """Whether messages may go to a host without encryption: to this machine, and where
    GANBOARD_ALERT_PLAIN_HOSTS says so."""
    named = {one.strip().lower() for one in settings.alert_plain_hosts.split(",")}
    return is_loopback(host) or host.lower() in named


def check_mail(settings: Settings, mail: Mail, password: str) -> tuple[str, dict[str, Any]]:
    """A mail server as it may be shown, and the options of its channel. Raises BadAlert."""
    if mail.security not in SECURITIES:
        raise BadAlert(
            f"{mail.security[:40]!r} is no kind of encryption: choose from {', '.join(SECURITIES)}."
        )
    if not _HOST.fullmatch(mail.host):
        raise BadAlert(f"{mail.host[:80]!r} is not the name of a mail server.")
    port = mail.port or PORTS[mail.security]
    if not 1 <= port <= 65535:
        raise BadAlert(f"Port {port} does not exist. Use 1 to 65535.")
    if mail.security == "none" and not may_be_plain(settings, mail.host):
        raise BadAlert(
            f"Mail to {mail.host[:100]} would not be encrypted. Use starttls or tls, or name the"
            " host in GANBOARD_ALERT_PLAIN_HOSTS."
        )
    if not 1 <= len(mail.recipients) <= RECIPIENTS:
        raise BadAlert(f"There are {len(mail.recipients)} recipients. Enter 1 to {RECIPIENTS}.")
    for address in (mail.sender, *mail.recipients):
        if not _MAIL_ADDRESS.fullmatch(address) or not address.isascii():
            raise BadAlert(f"{address[:80]!r} is not an e-mail address such as lab@example.org.")
    if mail.user and mail.security == "none":
        raise BadAlert("A password is not sent without encryption. Use starttls or tls.")
    if password and not mail.user:
        raise BadAlert("There is a password but no user name. Enter both, or neither.")
    domains = sorted({address.rpartition("@")[2] for address in mail.recipients})
    masked = f"{mail.host}:{port}, to {len(mail.recipients)} at {', '.join(domains)}"
    return masked, {**asdict(mail), "port": port, "recipients": list(mail.recipients)}


def split_addresses(text: str) -> tuple[str, ...]:
    """Addresses between commas or on lines of their own."""
    return tuple(filter(None, re.split(r"[\s,;]+", text)))
