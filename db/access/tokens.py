"""Tokens for the REST API. The database has their SHA-256 alone: 256 random bits need no slow
hash."""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections.abc import Sequence

from sqlalchemy import Engine, func, update
from sqlmodel import col, or_, select

from ganboard.db.access import audit
from ganboard.db.clock import now
from ganboard.db.engine import clear_errors, reading, writing
from ganboard.db.errors import BadToken, UnknownToken
from ganboard.db.models import ApiToken
from ganboard.db.text_validation import invisible

SCOPES = ("read", "write")  # the second includes the first
PREFIX = "ganboard_"  # so that searches for lost secrets recognise one
NAME_LENGTH = 80
LONGEST_DAYS = 366
USUAL_DAYS = 90
DAY_SECONDS = 24 * 3600.0
MOST = 100  # valid ones of an owner
_USED_SECONDS = 60.0  # `used_at` is written this often at most


def create(
    engine: Engine, *, name: str, owner: str, scope: str = "read", days: int = USUAL_DAYS
) -> tuple[ApiToken, str]:
    """A new token and its text, which is nowhere else. Raises BadToken."""
    name = _checked_name(name)
    if scope not in SCOPES:
        raise BadToken(f"{scope[:40]!r} is not a scope: choose read or write.")
    if not 1 <= days <= LONGEST_DAYS:
        raise BadToken(f"A token is valid for 1 to {LONGEST_DAYS} days, not {days}.")
    text = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken(name=name, owner=owner, scope=scope, digest=_digest(text))
    token.created_at = now()  # type: ignore[assignment]
    token.expires_at = now(days * DAY_SECONDS)  # type: ignore[assignment]
    with clear_errors(engine), writing(engine) as session:
        mine = select(func.count()).where(_VALID, col(ApiToken.owner) == owner)
        if (session.scalar(mine) or 0) >= MOST:
            raise BadToken(f"There are already {MOST} valid tokens of {owner}. Revoke one first.")
        session.add(token)
        audit.add(session, who=owner, token_id=token.id, action=f"token {name!r} created")
        session.flush()
        session.refresh(token)
    return token, text


def find(engine: Engine, text: str) -> ApiToken | None:
    """The valid token with this text, marked as used."""
    with reading(engine) as session:
        token = session.exec(
            select(ApiToken).where(col(ApiToken.digest) == _digest(text), _VALID)
        ).one_or_none()
        if token is None:
            return None
        unmarked = or_(col(ApiToken.used_at).is_(None), col(ApiToken.used_at) < now(-_USED_SECONDS))
        to_mark = select(ApiToken.id).where(col(ApiToken.id) == token.id, unmarked)
        marks = session.exec(to_mark).one_or_none() is not None
    if marks:
        # whoever knows the token may use it, also while no page is open
        with writing(engine.execution_options(before_writing=None)) as session:
            session.execute(
                update(ApiToken).where(col(ApiToken.id) == token.id).values(used_at=now())
            )
    return token


def listed(engine: Engine, *, owner: str | None = None) -> Sequence[ApiToken]:
    """The valid tokens, of everybody or of one person, newest first."""
    wanted = select(ApiToken).where(_VALID).order_by(col(ApiToken.created_at).desc())
    if owner is not None:
        wanted = wanted.where(col(ApiToken.owner) == owner)
    with reading(engine) as session:
        return session.exec(wanted).all()


def revoke(
    engine: Engine, *, token_id: str, who: str, owner: str | None = None, recorded: bool = False
) -> ApiToken:
    """End a token at once; with an `owner` only one of theirs. Unless the caller has it `recorded`,
    the audit log gets an entry. Raises UnknownToken."""
    with writing(engine) as session:
        token = session.get(ApiToken, token_id)
        if token is None or token.revoked_at is not None or owner not in (None, token.owner):
            raise UnknownToken(
                f"There is no valid token {token_id[:40]!r}: `ganboard token list` lists them."
            )
        token.revoked_at = now()  # type: ignore[assignment]
        if not recorded:
            audit.add(session, who=who, token_id=token.id, action=f"token {token.name!r} revoked")
        session.flush()
        session.refresh(token)
        return token


def _checked_name(text: str) -> str:
    name = unicodedata.normalize("NFC", text).strip()
    if not 1 <= len(name) <= NAME_LENGTH:
        raise BadToken(
            f"The name of a token has 1 to {NAME_LENGTH} characters, not {len(name)}: say what it"
            " is for."
        )
    if bad := invisible(name):
        raise BadToken(f"The name contains the invisible or control character {bad}. Remove it.")
    return name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


_VALID = col(ApiToken.revoked_at).is_(None) & (col(ApiToken.expires_at) > now())
