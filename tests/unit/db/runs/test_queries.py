from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from ganboard.db import heartbeats
from ganboard.db.engine import writing
from ganboard.db.errors import UnknownRun
from ganboard.db.models import STATUSES, Run, utc_now
from ganboard.db.placement import backlog
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import commands, listing, queries
from tests.unit.db.stored_runs import STEPS, claimed, in_status, steps, stored, submitted, training

AWKWARD = (
    "",
    " ",
    "%",
    "_",
    "%%%",
    "\\",
    "'",
    '"; DROP TABLE run; --',
    "\0",
    "\udcff",
    "é漢👩‍👩‍👧",
    "[a-z]*",
    "x" * 10_000,
    "%" * 10_000,
    "_" * 100_000,
)


def with_id(engine: Engine, run_id: str, **values: object) -> Run:
    run = Run.model_validate({"id": run_id, "name": run_id, "config": {}, **values})
    with writing(engine) as session:
        session.add(run)
    return run


# --- one run ---


def test_a_run_is_found_by_its_id_or_the_beginning_of_it(engine: Engine) -> None:
    for run_id in ("abcdefghjk", "abzzzzzzzz", "cccccccccc"):
        with_id(engine, run_id)
    for text, expected in (
        ("abcdefghjk", "abcdefghjk"),
        ("abc", "abcdefghjk"),
        ("c", "cccccccccc"),
        ("ABZ", "abzzzzzzzz"),
        (" cc\n", "cccccccccc"),
    ):
        assert queries.find_run(engine, text).id == expected


def test_an_ambiguous_beginning_asks_for_more(engine: Engine) -> None:
    for run_id in ("abcdefghjk", "abzzzzzzzz"):
        with_id(engine, run_id)
    with pytest.raises(UnknownRun, match=r"^More than one run id starts with 'ab'\."):
        queries.find_run(engine, "ab")


def test_latest_is_the_newest(engine: Engine) -> None:
    with pytest.raises(UnknownRun):
        queries.find_run(engine, "latest")
    submitted(engine)
    newest = submitted(engine)
    assert queries.find_run(engine, "latest").id == newest


def test_text_that_names_no_run_is_said_to(engine: Engine) -> None:
    with_id(engine, "abcdefghjk")
    for text in (*AWKWARD, "zz", "abcdefghjkk", "bcdefghjk"):
        with pytest.raises(
            UnknownRun, match=r"^There is no run .*: `ganboard runs` lists them.$"
        ) as caught:
            queries.find_run(engine, text)
        assert len(str(caught.value)) < 400
        assert queries.get_run(engine, text) is None
        assert queries.get_runs(engine, [text]) == []


def test_runs_come_in_the_order_asked_for(engine: Engine) -> None:
    first, second, third = (submitted(engine) for _ in range(3))
    assert [run.id for run in queries.get_runs(engine, [third, "nobody", first])] == [third, first]
    assert queries.get_runs(engine, []) == []
    assert second not in {run.id for run in queries.get_runs(engine, [third, first])}


# --- lists ---


def test_the_list_is_newest_first_and_comes_in_pages(engine: Engine) -> None:
    run_ids = [submitted(engine, f"run {i}") for i in range(5)][::-1]
    assert [run.id for run in queries.list_runs(engine)] == run_ids
    assert [run.id for run in queries.list_runs(engine, limit=2, offset=1)] == run_ids[1:3]
    assert [run.id for run in queries.list_runs(engine, offset=3)] == run_ids[3:]
    assert queries.list_runs(engine, offset=9) == []
    assert queries.count_runs(engine) == 5


def test_lists_by_status(engine: Engine) -> None:
    run_ids = {status: in_status(engine, status) for status in STATUSES}
    for status in STATUSES:
        assert [run.id for run in queries.list_runs(engine, statuses=(status,))] == [
            run_ids[status]
        ]
    assert queries.count_runs(engine, statuses=("running", "failed")) == 2
    assert {run.id for run in queries.active_runs_of(engine, "w-1")} == {
        run_ids["starting"],
        run_ids["running"],
    }
    assert queries.active_runs_of(engine, "w-2") == []


def test_archived_runs_are_listed_and_counted_only_when_asked_for(engine: Engine) -> None:
    old, new = in_status(engine, "finished"), in_status(engine, "stopped")
    run_annotations.archive(engine, run_ids=[new])
    assert [run.id for run in queries.list_runs(engine)] == [old]
    assert [run.id for run in queries.list_runs(engine, archived=True)] == [new, old]
    assert (queries.count_runs(engine), queries.count_runs(engine, archived=True)) == (1, 2)
    assert queries.find_run(engine, "latest").id == old
    assert queries.find_run(engine, new).id == new
    commands.resume(engine, run_id=new)  # what trains again is seen again
    assert queries.count_runs(engine) == 2


# --- the queue ---


def test_the_place_in_the_queue(engine: Engine) -> None:
    first, second, third = (submitted(engine) for _ in range(3))
    assert [
        backlog.queue_position(engine, stored(engine, run_id)) for run_id in (first, second, third)
    ] == [0, 1, 2]
    claimed(engine, first)
    assert [
        backlog.queue_position(engine, stored(engine, run_id)) for run_id in (second, third)
    ] == [0, 1]
    commands.finish(engine, run_id=first, attempt=1, status="suspended")
    assert backlog.queue_position(engine, stored(engine, first)) == 2
    assert [run.id for run in backlog.waiting_runs(engine)] == [second, third, first]


def test_runs_queued_in_the_same_moment_keep_the_order_of_their_submission(engine: Engine) -> None:
    moment = utc_now() - timedelta(hours=1)
    for i, run_id in enumerate(("cccccccccc", "aaaaaaaaaa", "bbbbbbbbbb")):
        with_id(engine, run_id, queued_at=moment, created_at=moment + timedelta(microseconds=i))
    assert [run.id for run in backlog.waiting_runs(engine)] == [
        "cccccccccc",
        "aaaaaaaaaa",
        "bbbbbbbbbb",
    ]
    assert [backlog.queue_position(engine, run) for run in backlog.waiting_runs(engine)] == [
        0,
        1,
        2,
    ]


def test_only_runs_that_waited_long_enough_are_enqueued_again(engine: Engine) -> None:
    old = with_id(engine, "aaaaaaaaaa", queued_at=utc_now() - timedelta(seconds=100))
    submitted(engine)
    in_status(engine, "running")
    assert [run.id for run in backlog.waiting_runs(engine, for_seconds=50)] == [old.id]
    assert backlog.waiting_runs(engine, for_seconds=150) == []


# --- what changes a list ---


def test_every_change_of_an_ended_run_changes_the_version(engine: Engine) -> None:
    seen = [listing.ended_version(engine)]

    def changed() -> bool:
        seen.append(listing.ended_version(engine))
        return seen[-1] != seen[-2]

    own = training(engine)
    run_id = own["run_id"]
    seen.append(listing.ended_version(engine))
    steps(engine, own, 1, 0, [0.5] * STEPS)
    assert not changed()  # what trains is read anew each time
    commands.finish(engine, **own, status="stopped")
    assert changed()
    run_annotations.add_tags(engine, run_ids=[run_id], tags=["a"])
    assert changed()
    run_annotations.add_tags(engine, run_ids=[run_id], tags=["b"])
    run_annotations.remove_tags(engine, run_ids=[run_id], tags=["a"])  # as many tags as before
    assert changed()
    run_annotations.write_note(engine, run_id=run_id, text="words", version=0)
    assert changed()
    run_annotations.write_note(engine, run_id=run_id, text="other words", version=1)
    assert changed()
    run_annotations.archive(engine, run_ids=[run_id])
    assert changed()
    run_annotations.restore(engine, run_ids=[run_id])
    assert changed()
    commands.resume(engine, run_id=run_id)
    assert changed()
    commands.request_stop(engine, run_id=run_id)
    assert changed()
    commands.delete_run(engine, run_id=run_id)
    assert changed()
    seen.append(listing.ended_version(engine))
    heartbeats.record(engine, name="w", host="box", pid=1, run_id=None)
    assert not changed()


def test_the_time_of_the_database_is_now(engine: Engine) -> None:
    before = queries.database_time(engine)
    assert abs((before - utc_now()).total_seconds()) < 5
    assert before.utcoffset() == timedelta(0)
    assert queries.database_time(engine) >= before
