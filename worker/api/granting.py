"""Tokens of people: what may be granted to whom. A viewer may do so as well, since their tokens let
nobody see or do more."""

from __future__ import annotations

from sqlalchemy import Engine

from ganboard.db.access import tokens
from ganboard.db.errors import BadToken
from ganboard.db.models import ApiToken
from ganboard.worker.access import sign_in
from ganboard.worker.context import Context

THIS_MACHINE = "this machine"  # the owner of tokens that an account without a name makes


def grant(
    context: Context, *, name: str, owner: str, scope: str, days: int
) -> tuple[ApiToken, str]:
    """A new token and its text, which is nowhere else. With sign-in the owner is somebody who may
    sign in, and only operators get scope write. Raises BadToken and SettingsError."""
    rules = sign_in(context.settings)
    if rules is not None:
        role = rules.role(owner)
        if role is None:
            raise BadToken(
                f"{owner or 'Nobody'} cannot own a token: name an e-mail address that"
                " GANBOARD_OPERATORS or GANBOARD_VIEWERS lets in."
            )
        if role == "viewer" and scope == "write":
            raise BadToken(f"{owner} is a viewer: only operators get tokens with scope write.")
    whose = owner or THIS_MACHINE
    return tokens.create(_unchecked(context), name=name, owner=whose, scope=scope, days=days)


def revoke(context: Context, *, token_id: str, who: str, owner: str | None) -> ApiToken:
    """End a token at once; with an `owner` only one of theirs. Raises UnknownToken."""
    return tokens.revoke(_unchecked(context), token_id=token_id, who=who, owner=owner)


def _unchecked(context: Context) -> Engine:
    return context.engine.execution_options(before_writing=None)
