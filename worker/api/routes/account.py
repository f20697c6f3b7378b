"""The caller, tokens, the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from ganboard.db.access import audit, tokens
from ganboard.worker.api import answers
from ganboard.worker.api.callers import Calling, Reading, Writing

router = APIRouter(tags=["account"])


@router.get("/me", summary="Show the caller and its rights")
def me(caller: Calling) -> answers.Me:
    return answers.Me(who=caller.who, scope=caller.scope, token_id=caller.token_id)


@router.get("/tokens", summary="List the caller's valid tokens")
def list_tokens(context: Reading, caller: Calling) -> list[answers.TokenRow]:
    """They are made on the page System or with `ganboard token create`, never here: a token that
    was lost could make others."""
    found = tokens.listed(context.engine, owner=caller.who)
    return [answers.TokenRow.model_validate(token) for token in found]


@router.delete("/tokens/{token_id}", summary="Revoke one of the caller's tokens", status_code=204)
def revoke(context: Writing, caller: Calling, token_id: str) -> None:
    own = caller.who
    # `Audited` records the request, as it does every other
    tokens.revoke(context.engine, token_id=token_id, who=own, owner=own, recorded=True)


@router.get("/audit", summary="The audit log, newest first")
def audit_log(
    context: Writing,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(description="`next` of the previous page.")] = None,
) -> answers.Page[answers.AuditRow]:
    """Changes that were asked for through this API, and tokens made and revoked. For operators
    alone: it needs a token with scope write."""
    found = audit.listed(context.engine, limit=limit + 1, before=before)
    shown = found[:limit]
    more = str(shown[-1].id) if len(found) > limit else None
    return answers.Page(items=[answers.AuditRow.model_validate(one) for one in shown], next=more)
