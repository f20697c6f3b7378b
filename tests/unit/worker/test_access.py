"""Who may reach an installation: what is refused before anything listens, in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker import access
from tests.sign_in import identity

SIGN_IN = {
    name.removeprefix("GANBOARD_").lower(): value
    for name, value in identity.environment("https://ganboard.example").items()
}


def settings(**given: Any) -> Settings:
    return Settings(home=Path("unused"), **given)


@pytest.fixture(autouse=True)
def _no_other_variables(home: Path) -> None:
    """No GANBOARD_ variable of the person who runs the tests."""


# --- the address ---


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST"]
)
def test_this_machine_alone_needs_no_sign_in(address: str) -> None:
    access.check_address(settings(), address)


@pytest.mark.parametrize(
    "address", ["0.0.0.0", "::", "192.168.1.4", "ganboard.lan", "", "127.1", "localhost.example"]
)
def test_an_open_address_is_refused_without_sign_in(address: str) -> None:
    with pytest.raises(SettingsError, match=r"without sign-in\. Set GANBOARD_OIDC_URL"):
        access.check_address(settings(), address)
    access.check_address(settings(**SIGN_IN), address)
    access.check_address(settings(published="loopback"), address)


def test_only_known_words_say_that_a_port_is_published_here_alone() -> None:
    with pytest.raises(SettingsError, match=r"^GANBOARD_PUBLISHED=yes is invalid"):
        access.check_address(settings(published="yes"), "127.0.0.1")


# --- sign-in ---


def test_sign_in_is_off_unless_it_is_meant() -> None:
    assert access.sign_in(settings()) is None
    assert (
        access.sign_in(
            settings(
                cookie_secret="made by the container",
                api_token="too",
                public_url="http://localhost",
            )
        )
        is None
    )


@pytest.mark.parametrize("name", access.NEEDED)
def test_half_a_sign_in_is_refused_and_says_what_is_missing(name: str) -> None:
    with pytest.raises(
        SettingsError, match=f"^Sign-in is not complete: set GANBOARD_{name.upper()} "
    ):
        access.sign_in(settings(**{**SIGN_IN, name: ""}))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"operators": "", "viewers": ""}, "List e-mail addresses"),
        ({"operators": "olga"}, "^GANBOARD_OPERATORS contains 'olga', which is neither"),
        ({"viewers": "a@b@c.example"}, "^GANBOARD_VIEWERS contains 'a@b@c.example'"),
        ({"viewers": "a@"}, "^GANBOARD_VIEWERS contains 'a@'"),
        ({"viewers": "@"}, "^GANBOARD_VIEWERS contains '@'"),
        ({"viewers": "*"}, r"^GANBOARD_VIEWERS contains '\*'"),
        (
            {"cookie_secret": "short"},
            "^GANBOARD_COOKIE_SECRET is too short to be secret. Use at least 32 random",
        ),
        ({"api_token": "short"}, "^GANBOARD_API_TOKEN is too short"),
        (
            {"public_url": "ganboard.example"},
            "^GANBOARD_PUBLIC_URL=ganboard.example is not an address",
        ),
        (
            {"public_url": "http://ganboard.example"},
            "is not encrypted: it must begin with https://",
        ),
        ({"public_url": "https://ganboard.example/below"}, "has a path"),
        ({"public_url": "https://u:p@ganboard.example"}, "is not an address"),
        ({"public_url": "https://ganboard.example:port"}, "is not an address"),
        (
            {"oidc_url": "http://provider.example/.well-known/openid-configuration"},
            "is not encrypted",
        ),
        ({"oidc_url": "file:///etc/passwd"}, "is not an address"),
    ],
)
def test_a_wrong_sign_in_is_refused(wrong: dict[str, str], says: str) -> None:
    with pytest.raises(SettingsError, match=says) as refused:
        access.sign_in(settings(**{**SIGN_IN, **wrong}))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("email", "role"),
    [
        ("olga@lab.example", "operator"),
        ("OLGA@LAB.EXAMPLE", "operator"),
        ("vera@guests.example", "viewer"),
        ("sam@guests.example", None),
        ("olga@lab.example.elsewhere.example", None),
        ("olga@sub.lab.example", None),
        ("@lab.example@elsewhere.example", None),
        ("lab.example", None),
        ("@lab.example", None),
        ("olga@\u212aab.example", None),
        ("olga@\u017fab.example", None),
        ("", None),
    ],
)
def test_roles_come_from_the_lists(email: str, role: str | None) -> None:
    rules = access.sign_in(settings(**SIGN_IN))
    assert rules is not None
    assert rules.role(email) == role


def test_who_is_on_both_lists_is_an_operator() -> None:
    rules = access.sign_in(
        settings(**{**SIGN_IN, "operators": "vera@guests.example", "viewers": "@guests.example"})
    )
    assert rules is not None
    assert (rules.role("vera@guests.example"), rules.role("bob@guests.example")) == (
        "operator",
        "viewer",
    )


# --- the queue ---


@pytest.mark.parametrize(
    "url",
    [
        "", "redis://127.0.0.1:6379/0", "redis://localhost", "redis://[::1]:6379",
        "unix:///run/redis.sock", "redis://u:secret@queue:6379/0", "redis://:secret@queue",
        "rediss://queue?password=secret", "redis://",
    ],
)  # fmt: skip
def test_a_queue_on_this_machine_or_with_a_password_is_used(url: str) -> None:
    access.check_queue(settings(redis_url=url))


@pytest.mark.parametrize(
    "url",
    ["redis://queue:6379/0", "rediss://queue", "redis://ganboard@10.0.0.3", "redis://u:@queue"],
)
def test_an_open_queue_elsewhere_is_refused(url: str) -> None:
    with pytest.raises(
        SettingsError,
        match=r"^The queue on [\w.]+ has no password\. .*GANBOARD_REDIS_PASSWORD_FILE",
    ):
        access.check_queue(settings(redis_url=url))
    access.check_queue(settings(redis_url=url, redis_password="secret"))


def test_what_is_no_url_of_a_queue_is_refused_without_being_shown() -> None:
    with pytest.raises(
        SettingsError, match=r"^GANBOARD_REDIS_URL is not a Redis URL such as"
    ) as refused:
        access.check_queue(settings(redis_url="http://u:geheim@queue"))
    assert "geheim" not in str(refused.value)
