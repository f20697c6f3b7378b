"""Tokens of the API: valid until they expire or are revoked, and stored as digests only."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text, update
from sqlmodel import col, select

from ganboard.db.access import tokens
from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import BadToken, UnknownToken
from ganboard.db.models import ApiToken, AuditEntry

OLGA = "olga@lab.example"


def actions(engine: Engine) -> list[tuple[str, str]]:
    with reading(engine) as session:
        entries = session.exec(select(AuditEntry).order_by(col(AuditEntry.id))).all()
    return [(entry.who, entry.action) for entry in entries]


def test_a_token_is_found_by_its_text_alone(engine: Engine) -> None:
    token, secret = tokens.create(engine, name=" nightly ", owner=OLGA, scope="write", days=7)
    found = tokens.find(engine, secret)
    assert found is not None
    assert (found.id, found.name, found.owner, found.scope) == (token.id, "nightly", OLGA, "write")
    assert (token.expires_at - token.created_at).total_seconds() == pytest.approx(7 * 86_400, abs=1)
    for wrong in ("", secret[:-1], secret + "a", token.digest, token.id, secret.upper(), "\ud800"):
        assert tokens.find(engine, wrong) is None


def test_the_database_has_no_token(engine: Engine) -> None:
    _, secret = tokens.create(engine, name="a", owner=OLGA)
    with engine.connect() as connection:
        for table in ("api_token", "audit_entry"):
            stored = connection.execute(text(f"SELECT * FROM {table}")).all()
            assert stored
            assert secret.removeprefix(tokens.PREFIX) not in str(stored)


def test_use_is_marked_once_a_minute(engine: Engine) -> None:
    _, secret = tokens.create(engine, name="a", owner=OLGA)
    marks = []
    for _ in range(2):
        assert tokens.find(engine, secret)
        marks.append(tokens.listed(engine)[0].used_at)
    assert marks[0] is not None
    assert marks[0] == marks[1]


def test_what_expired_or_was_revoked_is_unknown(engine: Engine) -> None:
    revoked, first = tokens.create(engine, name="a", owner=OLGA)
    expired, second = tokens.create(engine, name="b", owner=OLGA)
    tokens.revoke(engine, token_id=revoked.id, who="admin")
    with writing(engine) as session:
        session.execute(
            update(ApiToken).where(col(ApiToken.id) == expired.id).values(expires_at=now(-1))
        )
    assert tokens.find(engine, first) is tokens.find(engine, second) is None
    assert tokens.listed(engine) == []
    assert actions(engine)[-1] == ("admin", "token 'a' revoked")
    with pytest.raises(UnknownToken, match="There is no valid token"):
        tokens.revoke(engine, token_id=revoked.id, who="admin")


def test_of_others_nothing_is_listed_or_revoked(engine: Engine) -> None:
    mine, _ = tokens.create(engine, name="mine", owner=OLGA)
    other, secret = tokens.create(engine, name="other", owner="otto@lab.example")
    assert [token.id for token in tokens.listed(engine, owner=OLGA)] == [mine.id]
    with pytest.raises(UnknownToken):
        tokens.revoke(engine, token_id=other.id, who=OLGA, owner=OLGA)
    assert tokens.find(engine, secret)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"name": "  "}, "1 to 80 characters, not 0"),
        ({"name": "x" * 81}, "not 81"),
        ({"name": "a\u202eb"}, "control character"),
        ({"scope": "admin"}, "choose read or write"),
        ({"days": 0}, "1 to 366 days, not 0"),
        ({"days": 367}, "not 367"),
    ],
)
def test_what_cannot_be_a_token_is_refused(
    engine: Engine, given: dict[str, object], sentence: str
) -> None:
    with pytest.raises(BadToken, match=sentence):
        tokens.create(engine, **{"name": "a", "owner": OLGA, **given})  # type: ignore[arg-type]
    assert tokens.listed(engine) == []
    assert actions(engine) == []


def test_a_person_has_a_limited_number(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST", 2)
    for number in range(2):
        tokens.create(engine, name=str(number), owner=OLGA)
    with pytest.raises(BadToken, match="already 2 valid tokens"):
        tokens.create(engine, name="third", owner=OLGA)
    tokens.create(engine, name="of another", owner="otto@lab.example")
