"""Who may use the REST API, and what the audit log keeps of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, func
from sqlmodel import col, select
from starlette.testclient import TestClient

from ganboard.db.access import audit, tokens
from ganboard.db.engine import reading
from ganboard.db.models import AuditEntry, Run
from ganboard.worker.context import Context
from tests.sign_in import identity
from tests.unit.worker.api.conftest import OWNER, MakeClient
from tests.unit.worker.api.test_runs import refused

ORIGIN = "https://ganboard.example"
MakeRun = Callable[..., Run]


def audited(engine: Engine) -> list[tuple[str, str, int]]:
    with reading(engine) as session:
        found = session.exec(select(AuditEntry).order_by(col(AuditEntry.id))).all()
    return [(one.who, one.action, one.status) for one in found if "token" not in one.action]


@pytest.fixture
def sign_in(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in identity.environment(ORIGIN).items():
        monkeypatch.setenv(name, value)


def with_token(client: TestClient, context: Context, owner: str, scope: str) -> TestClient:
    _, text = tokens.create(context.engine, name="a", owner=owner, scope=scope)
    client.headers["Authorization"] = f"Bearer {text}"
    return client


def test_without_sign_in_everybody_reads_and_tokens_write(
    client_of: MakeClient, make_run: MakeRun
) -> None:
    make_run()
    stranger, reader, writer = client_of(None), client_of("read"), client_of("write")
    assert len(stranger.get("/runs").json()["items"]) == 1
    assert reader.get("/me").json()["scope"] == "read"
    for client in (stranger, reader):
        assert "token with scope write" in refused(client.delete("/runs/latest"), 403)
        assert "token with scope write" in refused(client.get("/audit"), 403)
    assert writer.get("/me").json()["who"] == OWNER
    assert writer.delete("/runs/latest").status_code == 200


def test_a_token_that_ended_opens_nothing(context: Context, client_of: MakeClient) -> None:
    client = client_of("write")
    (token,) = client.get("/tokens").json()
    assert client.delete(f"/tokens/{token['id']}").status_code == 204
    answer = client.get("/runs")
    assert "unknown, expired or revoked" in refused(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"
    for header in ("Bearer x", f"Bearer {'é' * 40}"):
        answer = client.get("/runs", headers={"Authorization": header.encode()})
        assert "unknown, expired or revoked" in refused(answer, 401)


def test_of_others_no_token_is_seen_or_revoked(context: Context, client: TestClient) -> None:
    other, _ = tokens.create(context.engine, name="b", owner="otto@lab.example")
    assert [token["owner"] for token in client.get("/tokens").json()] == [OWNER]
    assert "There is no valid token" in refused(client.delete(f"/tokens/{other.id}"), 404)


def test_with_sign_in_a_token_grants_what_its_owner_may(
    context: Context, sign_in: None, client_of: MakeClient, make_run: MakeRun
) -> None:
    make_run()
    client = client_of(None)
    assert "Sign in first" in refused(client.get("/runs"), 401)
    with_token(client, context, identity.STRANGER, "write")
    assert "no access to this ganboard any more" in refused(client.get("/runs"), 401)
    with_token(client, context, identity.VIEWER, "write")
    assert client.get("/me").json()["scope"] == "read"
    assert "scope write" in refused(client.delete("/runs/latest"), 403)
    with_token(client, context, identity.OPERATOR, "write")
    assert client.delete("/runs/latest").status_code == 200


def test_a_cookie_reads_and_never_writes(
    sign_in: None, client_of: MakeClient, make_run: MakeRun
) -> None:
    make_run()
    client = client_of(None)
    for name, value in identity.cookie(identity.OPERATOR, ORIGIN).items():
        client.cookies.set(name, value)
    assert client.get("/me").json() == {"who": identity.OPERATOR, "scope": "read", "token_id": None}
    assert "scope write" in refused(client.post("/runs/latest/stop"), 403)


def test_the_token_for_programs_reads(
    monkeypatch: pytest.MonkeyPatch, client_of: MakeClient
) -> None:
    client = client_of(None)
    monkeypatch.setenv("GANBOARD_API_TOKEN", "t" * 32)
    client.headers["Authorization"] = f"bearer {'t' * 32}"
    assert client.get("/me").json()["who"] == "GANBOARD_API_TOKEN"
    assert "scope write" in refused(client.post("/runs", json={"preset": "tiny"}), 403)


def test_changes_are_in_the_audit_log(
    context: Context, client_of: MakeClient, make_run: MakeRun
) -> None:
    run = make_run()
    writer, reader, stranger = client_of("write"), client_of("read"), client_of(None)
    writer.get(f"/runs/{run.id}")
    writer.patch(f"/runs/{run.id}", json={"note": "a secret thought"})
    writer.post("/runs/nosuch/stop")
    reader.delete(f"/runs/{run.id}")
    stranger.delete(f"/runs/{run.id}")
    expected = [
        (OWNER, f"PATCH /runs/{run.id}", 200),
        (OWNER, "POST /runs/nosuch/stop", 404),
        (OWNER, f"DELETE /runs/{run.id}", 403),
    ]
    assert [one for one in audited(context.engine) if one[0] == OWNER] == expected
    shown = writer.get("/audit", params={"limit": 2}).json()
    assert next(entry["action"] for entry in shown["items"]) == "DELETE /runs/" + run.id
    more = writer.get("/audit", params={"before": shown["next"]}).json()
    assert (more["items"][0]["action"], more["next"]) == (f"PATCH /runs/{run.id}", None)
    assert "secret thought" not in str(shown) + str(more)


def test_a_revoked_token_is_recorded_once(context: Context, client: TestClient) -> None:
    other, _ = tokens.create(context.engine, name="other", owner=OWNER)
    with reading(context.engine) as session:
        newest = session.scalar(select(func.max(AuditEntry.id)))
    assert client.delete(f"/tokens/{other.id}").status_code == 204
    (entry,) = client.get("/audit", params={"limit": 1}).json()["items"]
    assert (entry["action"], entry["status"]) == (f"DELETE /tokens/{other.id}", 204)
    assert entry["id"] == newest + 1
    tokens.revoke(context.engine, token_id=entry["token_id"], who="an operator")
    (entry,) = audit.listed(context.engine, limit=1)
    assert (entry.who, entry.action) == ("an operator", "token 'test' revoked")


def test_a_change_is_recorded_before_it_is_answered(
    context: Context, client: TestClient, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, seen = make_run(), []
    recorded = audit.record
    monkeypatch.setattr(
        "ganboard.worker.api.audited.audit.record",
        lambda engine, **given: (recorded(engine, **given), seen.append(given["status"])),
    )
    client.delete(f"/runs/{run.id}")
    assert seen == [200]


def test_addresses_that_are_none(client: TestClient) -> None:
    assert "There is no address /nosuch" in refused(client.get("/nosuch"), 404)
    assert "has no method PUT" in refused(client.put("/runs"), 405)


def test_the_database_is_away(client: TestClient, context: Context) -> None:
    with context.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE run")
    assert "The database is unavailable" in refused(client.get("/runs"), 503)
