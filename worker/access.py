"""Who may reach this installation, and as what: the rules that web server, workers and command line
share. Nothing here is open by mistake.

Sign-in is on when GANBOARD_OIDC_URL is set, and then complete or refused.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from ganboard.db.settings import Settings, SettingsError

Role = Literal["viewer", "operator"]
LOOPBACK_NAMES = ("localhost", "ip6-localhost")
PUBLISHED = ("", "loopback")
SHORTEST_SECRET = 32  # characters
NEEDED = ("oidc_url", "oidc_client_id", "oidc_client_secret", "cookie_secret", "public_url")
# a container makes the other secrets in any case
MEANT = ("oidc_url", "oidc_client_id", "oidc_client_secret", "operators", "viewers")


@dataclass(frozen=True)
class SignIn:
    """Who is let in. Addresses are e-mail addresses in lower case, or `@domain` for all of a
    domain."""

    operators: frozenset[str]
    viewers: frozenset[str]

    def role(self, email: str) -> Role | None:
        """What the owner of an address is here, the more powerful of two; None for a stranger."""
        local, _, domain = _folded(email).rpartition("@")
        if not local:
            return None
        names = {f"{local}@{domain}", f"@{domain}"}
        if names & self.operators:
            return "operator"
        return "viewer" if names & self.viewers else None


def sign_in(settings: Settings) -> SignIn | None:
    """The rules of sign-in, None when it is off. Raises SettingsError when it was begun and is not
    complete."""
    if not any(getattr(settings, name) for name in MEANT):
        return None
    if missing := [f"GANBOARD_{name.upper()}" for name in NEEDED if not getattr(settings, name)]:
        raise SettingsError(
            f"Sign-in is not complete: set {', '.join(missing)} (docs/security.md has an example)."
        )
    if not (settings.operators or settings.viewers):
        raise SettingsError(
            "No user is allowed to sign in. List e-mail addresses or @domains in"
            " GANBOARD_OPERATORS or GANBOARD_VIEWERS."
        )
    for name in ("cookie_secret", "api_token"):
        if 0 < len(getattr(settings, name)) < SHORTEST_SECRET:
            raise SettingsError(
                f"GANBOARD_{name.upper()} is too short to be secret. Use at least"
                f" {SHORTEST_SECRET} random characters."
            )
    _check_url("GANBOARD_OIDC_URL", settings.oidc_url)
    if urlsplit(_check_url("GANBOARD_PUBLIC_URL", settings.public_url)).path.strip("/"):
        raise SettingsError(
            f"GANBOARD_PUBLIC_URL={settings.public_url} has a path, but ganboard must be served"
            " from the root of a host."
        )
    return SignIn(
        _addresses("GANBOARD_OPERATORS", settings.operators),
        _addresses("GANBOARD_VIEWERS", settings.viewers),
    )


def check_address(settings: Settings, address: str) -> None:
    """Raises SettingsError unless `address` is this machine's own, or people sign in, or only this
    machine can reach it all the same."""
    if settings.published not in PUBLISHED:
        raise SettingsError(
            f"GANBOARD_PUBLISHED={settings.published[:40]} is invalid. Unset it, or set it to"
            " loopback."
        )
    if sign_in(settings) is None and settings.published != "loopback" and not is_loopback(address):
        raise SettingsError(
            f"The dashboard cannot listen on {address} without sign-in. Set GANBOARD_OIDC_URL and"
            " the related variables (docs/security.md), or use 127.0.0.1."
        )


def check_serving(settings: Settings, address: str) -> None:
    """Raises SettingsError unless `address` is this machine's own, or programs show a token that is
    hard to guess."""
    if 0 < len(settings.serve_token) < SHORTEST_SECRET:
        raise SettingsError(
            f"GANBOARD_SERVE_TOKEN is too short to be secret. Use at least {SHORTEST_SECRET}"
            " random characters."
        )
    if not settings.serve_token and settings.published != "loopback" and not is_loopback(address):
        raise SettingsError(
            f"Models cannot be served on {address} without a token. Set GANBOARD_SERVE_TOKEN to at"
            f" least {SHORTEST_SECRET} random characters, or use 127.0.0.1."
        )


def check_queue(settings: Settings) -> None:
    """Raises SettingsError when GANBOARD_REDIS_URL names a Redis elsewhere and no password: whoever
    can write to it steers the workers."""
    if not settings.redis_url or settings.redis_password:
        return
    from redis.connection import parse_url

    try:
        given = parse_url(settings.redis_url)  # type: ignore[no-untyped-call]
    except ValueError:
        raise SettingsError(
            "GANBOARD_REDIS_URL is not a Redis URL such as redis://ganboard@host:6379/0 or"
            " unix:///path."
        ) from None
    if (
        not given.get("password")
        and "path" not in given
        and not is_loopback(given.get("host", "localhost"))
    ):
        raise SettingsError(
            f"The queue on {given['host']} has no password. Set one (docs/security.md) and point"
            " GANBOARD_REDIS_PASSWORD_FILE to the file that contains it."
        )


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach a host name or address."""
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address.lower() in LOOPBACK_NAMES


def _addresses(variable: str, text: str) -> frozenset[str]:
    found = [_folded(part.strip()) for part in text.split(",") if part.strip()]
    for one in found:
        local, at, domain = one.rpartition("@")
        if not at or "@" in local or not domain or any(letter.isspace() for letter in one):
            raise SettingsError(
                f"{variable} contains {one[:80]!r}, which is neither an e-mail address nor an"
                " @domain."
            )
    return frozenset(found)


def _folded(address: str) -> str:
    """In lower case, but for letters beyond ASCII, of which several have the same one."""
    return address.lower() if address.isascii() else address


def _check_url(variable: str, url: str) -> str:
    """The URL itself: https, or http on this machine, so that no secret crosses a network in the
    clear."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        host = ""
    if (
        not host
        or parts.scheme not in ("http", "https")
        or parts.username
        or parts.query
        or parts.fragment
    ):
        raise SettingsError(
            f"{variable}={url[:120]} is not an address such as https://host.example."
        )
    if parts.scheme == "http" and not is_loopback(host):
        raise SettingsError(
            f"{variable}={url[:120]} is not encrypted: it must begin with https://."
        )
    return url
