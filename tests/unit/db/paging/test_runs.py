"""Pages of runs: each run once, filtered by the database, whatever is added in between."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, update
from sqlmodel import col

from ganboard.db.engine import writing
from ganboard.db.errors import BadCursor
from ganboard.db.models import Run, utc_now
from ganboard.db.paging import cursor
from ganboard.db.paging.runs import Filters, page
from ganboard.db.runs import annotations, commands, trash
from tests.unit.db.stored_runs import submitted


def walked(engine: Engine, limit: int, filters: Filters = Filters()) -> list[str]:
    found, after = [], None
    while True:
        shown = page(engine, filters, limit=limit, after=after)
        found += [run.id for run in shown.rows]
        if shown.after is None:
            return found
        after = cursor.decode(cursor.encode(shown.after))


def stored(engine: Engine, **values: Any) -> str:
    run_id = submitted(engine)
    with writing(engine) as session:
        session.execute(update(Run).where(col(Run.id) == run_id).values(**values))
    return run_id


def test_each_run_is_on_one_page_newest_first(engine: Engine) -> None:
    moment = utc_now()
    # three at the same moment: the id decides
    expected = [stored(engine, created_at=moment + timedelta(seconds=n // 3)) for n in range(7)]
    newest_first = walked(engine, 100)
    assert sorted(newest_first) == sorted(expected)
    assert newest_first[0] == expected[6]
    for limit in (1, 2, 3, 7):
        assert walked(engine, limit) == newest_first


def test_runs_that_come_or_go_move_no_others(engine: Engine) -> None:
    moment = utc_now()
    first = [stored(engine, created_at=moment + timedelta(seconds=n)) for n in range(6)][::-1]
    shown = page(engine, Filters(), limit=2)
    trash.move(engine, run_id=first[1])
    trash.move(engine, run_id=first[3])
    stored(engine, created_at=moment + timedelta(days=1))
    rest = page(engine, Filters(), limit=10, after=shown.after)
    assert [run.id for run in rest.rows] == [first[2], first[4], first[5]]
    assert rest.after is None


def test_filters(engine: Engine) -> None:
    moment = utc_now()
    config = {"model": "dcgan", "batch_size": 64, "rate": 2e-4, "xla": True, "ema": None}
    one = stored(engine, config=config, preset="paper", owner="olga", created_at=moment)
    two = stored(
        engine,
        config={**config, "batch_size": 128, "xla": False, "ema": 0.5},
        name="100 % Ünïcode_x",
        status="failed",
        sweep="s",
        created_at=moment + timedelta(days=1),
    )
    away = stored(engine, config=config, status="finished")
    annotations.archive(engine, run_ids=[away])
    annotations.add_tags(engine, run_ids=[one, two], tags=["a"])
    annotations.add_tags(engine, run_ids=[two], tags=["b"])

    def found(**filters: Any) -> set[str]:
        return set(walked(engine, 10, Filters(**filters)))

    assert found() == {one, two}
    assert found(archived=True) == {away}
    assert found(statuses=["failed", "stopped"]) == {two}
    assert found(tags=["a"]) == {one, two}
    assert found(tags=["a", "b"]) == {two}
    assert found(name="% üNÏ") == {two}
    assert found(name="e_x") == {two}
    assert found(name="exx") == set()
    assert found(preset="paper") == found(owner="olga") == {one}
    assert found(sweep="s") == {two}
    assert found(created_from=moment + timedelta(hours=1)) == {two}
    assert found(created_before=moment + timedelta(hours=1)) == {one}
    assert found(settings={"batch_size": 128}) == {two}
    assert found(settings={"rate": 2e-4}) == {one, two}
    assert found(settings={"xla": True, "model": "dcgan"}) == {one}
    assert found(settings={"ema": None}) == {one}
    assert found(settings={"absent": 1}) == set()
    for other_type in (1, 0.5, True):
        assert found(settings={"model": other_type}) == set()
    assert found(settings={"batch_size": "64"}) in (set(), {one})  # SQLite has no types there


def test_a_page_is_one_statement(engine: Engine) -> None:
    for _ in range(5):
        commands.create_run(engine, name="r", config={})
    said: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: said.append(given[2]))
    page(engine, Filters(), limit=2)
    assert len([one for one in said if one.startswith("SELECT")]) == 1
    assert " LIMIT " in said[-1]


@pytest.mark.parametrize("text", ["", "a", "####", "WzFd", "WyJ4IiwgInkiXQ", "é", "W10=" * 500])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(BadCursor, match="begin without one"):
        cursor.decode(text)
