"""Deleted runs: nothing shows them, all of them returns, and after a week they are removed."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, tzinfo
from typing import Any

import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from ganboard.db import clock, models, stats, studies
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.fence import in_trash
from ganboard.db.models import ACTIVE, STATUSES, WAITING, Run, Study
from ganboard.db.placement import backlog
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import (
    commands,
    expiry,
    external,
    holders,
    listing,
    notifications,
    past_runs,
    queries,
    reports,
    trash,
)
from ganboard.db.runs.imports import insert
from tests.unit.db.stored_runs import (
    checkpoint,
    finish_epoch,
    in_status,
    quality,
    steps,
    stored,
    submitted,
    training,
)
from tests.unit.db.test_migrate import contents

TAG = "tag of the deleted run"
WEEK = timedelta(days=7)


def complete(engine: Engine) -> str:
    """A finished run with rows of every kind that lists and counts read."""
    own = training(engine, submitted(engine, "the deleted run", dataset="mnist"))
    steps(engine, own, 1, 0, [0.1, 0.2])
    finish_epoch(engine, own, 1)
    quality(engine, own, 1)
    reports.add_grid(engine, **own, epoch=1, rows=1, columns=1, png=b"four")
    checkpoint(engine, own, 4)
    run_id = str(own["run_id"])
    run_annotations.add_tags(engine, run_ids=[run_id], tags=[TAG])
    study = Study(name="s", title="S", definition={"asked": 1})
    studies.store(engine, study, counted={"part": [run_id]}, missing=[])
    commands.finish(engine, **own, status="finished")
    return run_id


def shown(engine: Engine) -> dict[str, Any]:
    """What pages, the command line, the API, MLflow and estimates read of several runs."""
    return {
        "runs": queries.list_runs(engine, archived=True),
        "count": queries.count_runs(engine, archived=True),
        "states": queries.states(engine),
        "newest": queries.newest_run_id(engine),
        "table": listing.list_all(engine),
        "names": listing.names(engine, limit=9),
        "to fid": listing.seconds_to_fid(engine, 1e300),
        "notices": notifications.notices(engine),
        "speeds": past_runs.measured_runs(engine),
        "finished": past_runs.finished_configs(engine),
        "waiting": backlog.waiting_runs(engine),
        "awaited": holders.newest_of_waiting(engine),
        "tags": run_annotations.all_tags(engine),
        "drawable": queries.drawable_runs(engine, limit=9),
        "largest": stats.largest_runs(engine, limit=9),
        "totals": stats.take(engine).runs,
        "studies": [states for _, states in studies.listed(engine)],
        "parts": [studies.runs(engine, study.id) for study, _ in studies.listed(engine)],
        "sweep": queries.sweep_runs(engine, "a sweep"),
    }


def delete_ago(engine: Engine, run_id: str, seconds: float) -> None:
    """As if the run had been moved to the trash so long ago, by the database's clock."""
    trash.move(engine, run_id=run_id)
    with writing(engine) as session:
        moved = update(Run).where(col(Run.id) == run_id)
        session.execute(moved.values(deleted_at=clock.now(-seconds)))


def test_nothing_shows_a_run_in_the_trash_and_all_of_it_returns(engine: Engine) -> None:
    before = shown(engine)
    run_id = complete(engine)
    there, rows = shown(engine), contents(engine)
    assert all(there[name] for name in ("runs", "table", "finished", "tags", "studies", "notices"))
    trash.move(engine, run_id=run_id)
    hidden = shown(engine)
    assert hidden.pop("studies") == [{}]  # it is there, and has no run
    assert hidden.pop("parts") == [{}]
    assert hidden == {name: before[name] for name in hidden}
    assert queries.get_run(engine, run_id) is None
    assert queries.get_runs(engine, [run_id]) == []
    assert stats.take(engine).epochs == 1  # a counter, which must not fall
    # only its row and its events have changed
    kept = contents(engine)
    assert {name for name in rows if rows[name] != kept[name]} == {"run", "event"}
    trash.restore(engine, run_id=run_id)
    back = shown(engine)
    for name, value in there.items():
        assert repr(back[name]) == repr(value), name
    texts = [event.text for event in queries.events(engine, run_id)[:2]]
    assert texts == ["Restored from the trash.", "Moved to the trash."]


@pytest.mark.parametrize("status", STATUSES)
def test_what_trains_cannot_be_deleted_and_what_waits_is_stopped(
    engine: Engine, status: str
) -> None:
    run_id = in_status(engine, status)
    if status in ACTIVE:
        with pytest.raises(NotAllowed, match=rf"^Run {run_id} is {status}\. Stop it before"):
            trash.move(engine, run_id=run_id)
        assert stored(engine, run_id).status == status
        return
    moved = trash.move(engine, run_id=run_id)
    expected = "stopped" if status in WAITING else status
    assert moved.status == expected
    assert backlog.waiting_runs(engine) == []
    assert commands.claim(engine, run_id=run_id, worker="w-2") is None
    assert expiry.expire_leases(engine) == []
    back = trash.restore(engine, run_id=run_id)
    assert (back.status, back.deleted_at) == (expected, None)
    assert back.ended_at is not None


def test_an_archived_run_returns_to_the_archive(engine: Engine) -> None:
    run_id = in_status(engine, "finished")
    run_annotations.archive(engine, run_ids=[run_id])
    trash.move(engine, run_id=run_id)
    assert trash.restore(engine, run_id=run_id).archived_at is not None


def test_what_is_in_the_trash_is_named_by_every_command(engine: Engine) -> None:
    run_id = in_status(engine, "stopped")
    trash.move(engine, run_id=run_id)
    for command in (
        lambda: queries.find_run(engine, run_id[:6]),
        lambda: commands.resume(engine, run_id=run_id),
        lambda: commands.request_stop(engine, run_id=run_id),
        lambda: trash.move(engine, run_id=run_id),
        lambda: run_annotations.archive(engine, run_ids=[run_id]),
        lambda: run_annotations.add_tags(engine, run_ids=[run_id], tags=["x"]),
        lambda: external.expects(engine, run_id=run_id, number=1),
    ):
        with pytest.raises(UnknownRun) as raised:
            command()
        assert str(raised.value) == in_trash(run_id)
    assert queries.find_run(engine, run_id[:6], trash_too=True).id == run_id
    with pytest.raises(NotAllowed, match="is in the trash"):
        insert(engine, Run(id=run_id, name="again", config={}), [], [], "Imported.")


def test_only_what_is_in_the_trash_can_be_restored(engine: Engine) -> None:
    run_id = in_status(engine, "finished")
    with pytest.raises(NotAllowed, match=rf"^Run {run_id} is not in the trash\.$"):
        trash.restore(engine, run_id=run_id)
    with pytest.raises(UnknownRun, match="There is no run 'nobody'"):
        trash.restore(engine, run_id="nobody")


def test_colours_of_runs_in_the_trash_are_not_given_away(engine: Engine) -> None:
    first = submitted(engine)
    number = stored(engine, first).number
    trash.move(engine, run_id=first)
    assert stored(engine, submitted(engine)).number == number + 1


def test_the_trash_lists_the_last_deleted_first(engine: Engine) -> None:
    run_id, other = complete(engine), in_status(engine, "failed")
    delete_ago(engine, run_id, 60)
    trash.move(engine, run_id=other)
    last, first = listing.list_all(engine, trash=True)
    assert (last.id, last.status, last.grid_epoch) == (other, "failed", None)
    assert (first.id, first.tags, first.fid, first.grid_epoch) == (run_id, (TAG,), 9.0, 1)
    assert first.deleted_at is not None
    assert trash.removed_at(first.deleted_at) - first.deleted_at == WEEK
    assert trash.count(engine) == 2
    assert trash.held(engine) == trash.Held(runs=2, grids=4, checkpoints=1 << 40)


@pytest.mark.parametrize("hours", [-24 * 30, 24 * 30])
def test_a_week_ends_on_the_clock_of_the_database(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    over, nearly = (in_status(engine, "finished") for _ in range(2))
    kept = in_status(engine, "finished")
    delete_ago(engine, over, WEEK.total_seconds() + 1)
    delete_ago(engine, nearly, WEEK.total_seconds() - 60)
    real, skew = time.time, timedelta(hours=hours)

    class Skewed(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Skewed:
            return cls.fromtimestamp(real(), tz) + skew

    monkeypatch.setattr(time, "time", lambda: real() + skew.total_seconds())
    monkeypatch.setattr(models, "datetime", Skewed)
    assert trash.expired(engine) == [over]
    commands.delete_run(engine, run_id=over)
    assert trash.expired(engine) == []
    assert [run.id for run in listing.list_all(engine, trash=True)] == [nearly]
    assert [run.id for run in queries.list_runs(engine)] == [kept]


def test_each_machine_deletes_its_files_and_the_last_one_the_run(engine: Engine) -> None:
    own = training(engine)
    for step, machine in ((4, "a"), (8, "b"), (12, "gone")):
        checkpoint(engine, own, step, machine=machine)
    run_id = str(own["run_id"])
    commands.finish(engine, **own, status="stopped")
    alive = ("a", "b")
    trash.move(engine, run_id=run_id)
    assert not trash.expire(engine, run_id=run_id, machine="a", alive=alive)  # not yet
    with writing(engine) as session:
        session.execute(update(Run).values(deleted_at=clock.now(-WEEK.total_seconds() - 1)))
    for _ in range(2):
        assert trash.expire(engine, run_id=run_id, machine="a", alive=alive)
        assert [one.machine for one in queries.checkpoints(engine, run_id)] == ["b"]
        assert trash.expired(engine) == [run_id]
    assert trash.expire(engine, run_id=run_id, machine="b", alive=alive)
    assert not trash.expire(engine, run_id=run_id, machine="a", alive=alive)
    assert queries.get_run(engine, run_id, trash_too=True) is None


def test_each_change_of_the_trash_changes_the_key_of_caches(engine: Engine) -> None:
    """Numbers of events that went with a run are given again, on SQLite."""
    first, second = in_status(engine, "finished"), in_status(engine, "finished")
    seen = [listing.ended_version(engine)]
    trash.move(engine, run_id=second)
    seen.append(listing.ended_version(engine))
    trash.restore(engine, run_id=second)
    seen.append(listing.ended_version(engine))
    trash.move(engine, run_id=second)
    seen.append(listing.ended_version(engine))
    commands.delete_run(engine, run_id=second)
    seen.append(listing.ended_version(engine))
    for word in ("one", "two", "three"):
        run_annotations.add_tags(engine, run_ids=[first], tags=[word])
        seen.append(listing.ended_version(engine))
    assert len(set(seen)) == len(seen)
