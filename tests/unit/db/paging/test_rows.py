"""Pages of any table: by the moment that it is ordered by, and without large columns."""

from __future__ import annotations

from sqlalchemy import Engine, inspect
from sqlmodel import col

from ganboard.db import requests
from ganboard.db.models import Request
from ganboard.db.paging import cursor, rows
from tests.unit.db.stored_runs import in_status


def test_requests_in_pages_without_their_results(engine: Engine) -> None:
    run = in_status(engine, "finished")
    made = [requests.ask(engine, requests.SURFACE, [run], {"size": size}) for size in (5, 6, 7)]
    requests.ask(engine, requests.PREDICTION, [run], {})
    claimed = requests.claim(engine, requests.ANALYSES, made[0])
    assert claimed is not None
    requests.answer(engine, claimed, result=b"large")

    def page(limit: int, after: str | None = None) -> rows.Page[Request]:
        return rows.page(
            engine,
            Request,
            [col(Request.kind) == requests.SURFACE],
            limit=limit,
            after=None if after is None else cursor.decode(after),
            moment="asked_at",
            without=(Request.result,),
        )

    first = page(2)
    assert [one.id for one in first.rows] == made[:0:-1]
    assert first.after is not None
    rest = page(2, cursor.encode(first.after))
    assert ([one.id for one in rest.rows], rest.after) == ([made[0]], None)
    assert inspect(rest.rows[0]).unloaded == {"result"}
    assert rest.rows[0].answered_at is not None
