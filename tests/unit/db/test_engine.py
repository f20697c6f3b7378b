from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InternalError, OperationalError
from sqlmodel import select

from ganboard.db import engine as module
from ganboard.db import heartbeats
from ganboard.db.curves import series
from ganboard.db.engine import clear_errors, make_engine, reading, writing
from ganboard.db.errors import Unreachable
from ganboard.db.migrate import upgrade
from ganboard.db.models import Run
from ganboard.db.runs import commands, expiry, listing, queries
from ganboard.worker.training import retry
from tests.unit.db.stored_runs import (
    IN_FORK,
    STEPS,
    finish_epoch,
    steps,
    stored,
    submitted,
    training,
)

only_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


@only_sqlite
@pytest.mark.usefixtures("flushed_commits")
def test_every_sqlite_connection_is_prepared(engine: Engine, url: str) -> None:
    for each in (engine, make_engine(url, pooled=False)):
        with each.connect() as connection:
            names = ("journal_mode", "foreign_keys", "busy_timeout", "synchronous", "cache_size")
            found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names}
        # 2: FULL
        assert found == {
            "journal_mode": "wal",
            "foreign_keys": 1,
            "busy_timeout": 10_000,
            "synchronous": 2,
            "cache_size": -128,
        }


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_process_that_stands_still_within_a_transaction_keeps_no_lock(
    engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = submitted(engine)
    monkeypatch.setattr(module, "IDLE_MILLISECONDS", 300)
    frozen = make_engine(url, pooled=False)
    with frozen.connect() as connection:
        connection.execute(select(Run.id).where(Run.id == run_id).with_for_update())
        began = time.monotonic()
        commands.request_stop(engine, run_id=run_id)
        assert 0.2 < time.monotonic() - began < 20
        with pytest.raises(InternalError, match="idle-in-transaction") as ended:
            connection.execute(select(Run.id))
        connection.invalidate()
    assert retry._passes(ended.value)
    settings = "SHOW application_name", "SHOW tcp_keepalives_idle"
    more = {"options": "-c application_name=mine"}
    chosen = make_url(url).update_query_dict(more).render_as_string(hide_password=False)
    named = make_engine(chosen)
    with named.connect() as connection:
        assert [connection.exec_driver_sql(one).scalar() for one in settings] == ["mine", "5"]
    named.dispose()


def test_a_new_database_is_opened_once_another_process_has_made_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE made (id)")
    ended = threading.Timer(0.2, lambda: other.execute("COMMIT"))
    ended.start()
    engine = make_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM made").scalar() == 0
    engine.dispose()
    ended.join()
    other.close()


@only_sqlite
def test_a_writer_waits_for_the_lock_and_then_says_so(
    engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(engine)
    monkeypatch.setattr(module, "BUSY_MILLISECONDS", 50)
    other = sqlite3.connect(engine.url.database or "")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(OperationalError, match="database is locked"):
        submitted(engine)
    other.rollback()
    other.close()
    submitted(engine)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 50


def test_what_is_written_together_fails_together(engine: Engine) -> None:
    run_id = submitted(engine, "before")
    with pytest.raises(RuntimeError), writing(engine) as session:  # noqa: PT012
        session.get_one(Run, run_id).name = "after"
        session.flush()
        raise RuntimeError
    assert stored(engine, run_id).name == "before"


def test_rows_stay_usable_after_their_transaction(engine: Engine) -> None:
    run_id = submitted(engine)
    with reading(engine) as session:
        run = session.get_one(Run, run_id)
    assert run.model_dump()["id"] == run_id


@only_sqlite
def test_readers_do_not_wait_for_a_writer(engine: Engine) -> None:
    run_id = submitted(engine, "before")
    with writing(engine) as session:
        session.get_one(Run, run_id).name = "after"
        session.flush()
        assert stored(engine, run_id).name == "before"
    assert stored(engine, run_id).name == "after"


def test_a_pool_free_engine_keeps_no_connection(engine: Engine, url: str) -> None:
    submitted(engine)
    engine.dispose()
    bare = make_engine(url, pooled=False)
    assert queries.count_runs(bare) == 1
    assert "NullPool" in type(bare.pool).__name__


@only_sqlite
@pytest.mark.parametrize("pooled", [True, False])
def test_a_file_that_goes_away_is_missed_and_its_return_is_noticed(
    engine: Engine, url: str, pooled: bool
) -> None:
    opened = make_engine(url, pooled=pooled)
    submitted(opened)
    here, away = Path(str(opened.url.database)), Path(f"{opened.url.database}.away")
    here.rename(away)
    for _ in range(2):
        with pytest.raises(OperationalError, match="the file is gone"):
            queries.count_runs(opened)
    assert not here.exists()  # no empty database beside the log of the old one
    away.rename(here)
    assert queries.count_runs(opened) == 1
    opened.dispose()


@only_sqlite
def test_a_file_that_was_replaced_is_read_anew(engine: Engine, tmp_path: Path) -> None:
    submitted(engine)
    engine.dispose()  # the log is written into the file
    assert queries.count_runs(engine) == 1
    other = make_engine(f"sqlite:///{tmp_path / 'other.db'}")
    upgrade(other)
    other.dispose()
    (tmp_path / "other.db").replace(str(engine.url.database))
    assert queries.count_runs(engine) == 0


def _train(url: str, until: float) -> int:
    """A trainer's life until `until`, for one epoch at least; returns how many it was."""
    engine = make_engine(url)
    own, epoch = training(engine), 0
    while epoch == 0 or time.monotonic() < until:
        epoch += 1
        for first in range(STEPS):
            steps(engine, own, epoch, first, [0.5])
            commands.renew(engine, **own)
            # reads, then writes
            heartbeats.record(
                engine, name=f"w-{os.getpid()}", host="box", pid=os.getpid(), run_id=own["run_id"]
            )
        finish_epoch(engine, own, epoch)
    assert len(series.step_losses(engine, own["run_id"], points=10**9)) == epoch * STEPS
    assert len(queries.epochs(engine, own["run_id"])) == epoch
    engine.dispose()
    return epoch


def _watch(url: str, until: float) -> int:
    engine = make_engine(url)
    reads = 0
    while reads == 0 or time.monotonic() < until:
        for run in queries.list_runs(engine):
            assert len(series.epochs_frame(engine, [run.id])) >= run.epoch
        listing.ended_version(engine)
        expiry.expire_leases(engine)
        reads += 1
    engine.dispose()
    return reads


@pytest.mark.thorough
@only_sqlite
def test_three_writers_and_two_readers_get_along(engine: Engine, url: str) -> None:
    engine.dispose()
    with IN_FORK.Pool(5) as pool:
        until = time.monotonic() + 2
        writers = [pool.apply_async(_train, (url, until)) for _ in range(3)]
        readers = [pool.apply_async(_watch, (url, until)) for _ in range(2)]
        # raises what its process raised: "database is locked" above all
        trained = [writer.get(timeout=60) for writer in writers]
        assert all(reader.get(timeout=60) for reader in readers)
    assert sorted(run.epoch for run in queries.list_runs(engine, statuses=("running",))) == sorted(
        trained
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://someone:geheim@127.0.0.1:1/ganboard",
        "sqlite:////proc/no/such/folder/ganboard.db",
    ],
)
def test_a_database_out_of_reach_is_one_sentence_without_the_password(url: str) -> None:
    engine = make_engine(url)
    with pytest.raises(Unreachable) as caught, clear_errors(engine), engine.connect():
        pass
    engine.dispose()
    sentence = str(caught.value)
    assert sentence.startswith(f"The database {url.split(':')[0]}://")
    assert sentence.endswith(". Check GANBOARD_DATABASE_URL.")
    assert "\n" not in sentence
    assert "geheim" not in sentence


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("This is not a database at all. " * 100)
    engine = make_engine(f"sqlite:///{path}")
    with (
        pytest.raises(Unreachable, match="file is not a database"),
        clear_errors(engine),
        engine.connect(),
    ):
        pass
    engine.dispose()
    assert path.read_text().startswith("This is not")


def test_a_missing_driver_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        Unreachable, match=r"PostgreSQL needs the package psycopg: install ganboard\[postgres\]."
    ):
        make_engine("postgresql+psycopg://someone@127.0.0.1/ganboard")
