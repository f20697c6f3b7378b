"""Who sends a request that is no page's: the bearer of a token, or a browser's cookie of somebody
who signed in."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from starlette.requests import HTTPConnection

from ganboard.app import auth
from ganboard.db.access import tokens
from ganboard.db.models import ApiToken
from ganboard.db.settings import Settings
from ganboard.worker.access import SignIn, sign_in
from ganboard.worker.api.contract import Caller
from ganboard.worker.context import Context

ANYBODY = "anybody on this machine"  # who can reach a dashboard without sign-in
PROGRAMS = "GANBOARD_API_TOKEN"
SIGN_IN = (
    "Sign in first; programs send the header Authorization: Bearer with a token of"
    " `ganboard token create`, or GANBOARD_API_TOKEN to read."
)
UNKNOWN = "This token is unknown, expired or revoked. Make another with `ganboard token create`."


def identify(
    settings: Settings, connection: HTTPConnection, context: Callable[[], Context]
) -> Caller | str:
    """Whom a request comes from; a sentence where nobody may read on its strength.

    Cookies let read alone: a browser sends them whatever page makes it ask. The database is asked
    about tokens of persons only. Raises DbError and DBAPIError where it does not answer.
    """
    rules = sign_in(settings)
    scheme, _, text = connection.headers.get("authorization", "").partition(" ")
    text = text.strip()
    if scheme.lower() == "bearer" and text:
        if settings.api_token and hmac.compare_digest(text.encode(), settings.api_token.encode()):
            return Caller(PROGRAMS, "read")
        token = tokens.find(context().engine, text)
        return UNKNOWN if token is None else _bearer(rules, token)
    if rules is None:
        return Caller(ANYBODY, "read")
    now = auth.visitor(rules, auth.cookie_claims(settings, connection.cookies))
    return Caller(now.email, "read") if now.role else SIGN_IN


def _bearer(rules: SignIn | None, token: ApiToken) -> Caller | str:
    """A token grants no more than its owner may do now."""
    if rules is None:
        return Caller(token.owner, "write" if token.scope == "write" else "read", token.id)
    role = rules.role(token.owner)
    if role is None:
        return f"{token.owner}, whose token this is, has no access to this ganboard any more."
    writes = role == "operator" and token.scope == "write"
    return Caller(token.owner, "write" if writes else "read", token.id)
