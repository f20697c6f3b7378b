"""Whom a request that is no page's comes from: cookies and tokens."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import OperationalError
from starlette.requests import HTTPConnection

from ganboard.app.web import callers
from ganboard.db.access import tokens
from ganboard.db.settings import Settings
from ganboard.worker.api.contract import Caller
from ganboard.worker.context import Context
from tests.sign_in import identity

ORIGIN = "https://ganboard.example"


@pytest.fixture(autouse=True)
def sign_in(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in identity.environment(ORIGIN).items():
        monkeypatch.setenv(name, value)


def who(
    context: Context, authorization: str = "", cookies: dict[str, str] | None = None
) -> Caller | str:
    cookie = "; ".join(f"{name}={value}" for name, value in (cookies or {}).items())
    given = {"authorization": authorization, "cookie": cookie}
    headers = [(key.encode(), text.encode("utf-8")) for key, text in given.items() if text]
    connection = HTTPConnection({"type": "http", "headers": headers})
    return callers.identify(Settings(), connection, lambda: context)


def test_the_cookie_counts_for_its_origin_and_key_only(context: Context) -> None:
    good = identity.cookie(identity.VIEWER, ORIGIN)
    name, value = next(iter(good.items()))
    assert who(context, cookies=good) == Caller(identity.VIEWER, "read")
    for bad in (
        {},
        {name: ""},
        {name: value[:-1]},
        {name: "chunks-9"},
        {name: "\u20ac"},
        {"other": value},
        identity.cookie(identity.VIEWER, "http://ganboard.example"),
        identity.cookie(
            identity.VIEWER, ORIGIN, secret="not the secret of this ganboard, but as long"
        ),
        identity.cookie(identity.STRANGER, ORIGIN),
    ):
        assert who(context, cookies=bad) == callers.SIGN_IN, bad


def test_without_a_token_set_no_token_opens(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    for header, sentence in (
        ("Bearer", callers.SIGN_IN),
        ("Bearer ", callers.SIGN_IN),
        ("Bearer x", callers.UNKNOWN),
        ("Basic ", callers.SIGN_IN),
    ):
        assert who(context, header) == sentence
    monkeypatch.setenv("GANBOARD_API_TOKEN", "t" * 32)
    assert who(context, f"bearer {'t' * 32}") == Caller(callers.PROGRAMS, "read")
    assert who(context, f"Basic {'t' * 32}") == callers.SIGN_IN
    assert who(context, "Bearer " + "\u00fc" * 32) == callers.UNKNOWN


def test_a_wrong_token_is_not_saved_by_a_cookie(context: Context) -> None:
    cookies = identity.cookie(identity.OPERATOR, ORIGIN)
    assert who(context, "Bearer x", cookies) == callers.UNKNOWN


def test_a_token_grants_what_its_owner_may(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {}
    for owner in (identity.OPERATOR, identity.VIEWER, identity.STRANGER):
        made[owner] = tokens.create(context.engine, name="a", owner=owner, scope="write")
    bearer = {owner: f"Bearer {text}" for owner, (_, text) in made.items()}
    ids = {owner: token.id for owner, (token, _) in made.items()}
    for owner, scope in ((identity.OPERATOR, "write"), (identity.VIEWER, "read")):
        assert who(context, bearer[owner]) == Caller(owner, scope, ids[owner])  # type: ignore[arg-type]
    assert "has no access" in str(who(context, bearer[identity.STRANGER]))
    monkeypatch.setenv("GANBOARD_OPERATORS", "nobody@lab.example")  # a role can end
    assert "has no access" in str(who(context, bearer[identity.OPERATOR]))


def test_no_database_says_so(context: Context) -> None:
    with context.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE api_token")
    with pytest.raises(OperationalError):
        who(context, "Bearer x")
    cookies = identity.cookie(identity.OPERATOR, ORIGIN)
    assert who(context, cookies=cookies) == Caller(identity.OPERATOR, "read")
