"""Whole databases, copied and loaded: equal to the last bit, whatever is written meanwhile."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, update
from sqlmodel import SQLModel, col, select

from ganboard.db import migrate, transfer
from ganboard.db.access import audit, tokens
from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.engine import make_engine, reading, writing
from ganboard.db.errors import BadCopy, SchemaTooNew
from ganboard.db.models import ACTIVE, AlertChannel, AuditEntry, Checkpoint, Run
from ganboard.db.runs import commands, external, queries
from tests.frozen.rows import fill
from tests.unit.db.stored_runs import (
    checkpoint,
    contents,
    finish_epoch,
    in_status,
    steps,
    submitted,
    training,
)


def everything(engine: Engine) -> dict[str, list[Any]]:
    """Every row of every table with exact values; JSON as objects, since PostgreSQL orders keys its
    own way."""
    found = {}
    with engine.connect() as connection:
        for table in SQLModel.metadata.sorted_tables:
            # tokens are revoked in a copy
            columns = [one for one in table.columns if one.name != "revoked_at"]
            rows = connection.execute(select(*columns)).all()
            found[table.name] = sorted(repr([_exact(value) for value in row]) for row in rows)
    return found


def _exact(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, float):
        return value.hex()
    return sorted(value.items()) if isinstance(value, dict) else value


def fill_ended(engine: Engine) -> None:
    """Rows of every kind, of which none is changed by loading them."""
    fill(engine)
    with writing(engine) as session:
        session.execute(update(Run).where(col(Run.status).in_(ACTIVE)).values(status="stopped"))
        session.execute(update(Checkpoint).values(machine=None))
        session.execute(update(AlertChannel).values(enabled=False))


def keys(engine: Engine) -> set[transfer.CheckpointKey]:
    with reading(engine) as session:
        return {(c.run_id, c.step, c.attempt) for c in session.exec(select(Checkpoint))}


def loaded(
    path: Path, into: str, here: set[transfer.CheckpointKey]
) -> tuple[Engine, transfer.Loaded]:
    target = make_engine(into)
    with transfer.open_copy(path) as copy, target.begin() as connection:
        found = transfer.load(copy, connection, here)
    return target, found


def test_a_copy_loaded_again_is_equal_to_the_bit(engine: Engine, tmp_path: Path) -> None:
    fill_ended(engine)
    path = tmp_path / "copy.db"
    reports: list[int] = []
    transfer.snapshot(engine, path, reports.append)
    target, found = loaded(path, f"sqlite:///{tmp_path / 'again.db'}", keys(engine))
    before, after = everything(engine), everything(target)
    assert before.pop("worker")
    assert after.pop("worker") == []  # heartbeats of another time
    assert after == before
    assert any("nan" in row for row in before["epoch"])
    assert sum(reports) > 0
    stored = queries.list_runs(engine, archived=True, trash_too=True)
    assert found.runs == {run.id for run in stored}
    if engine.dialect.name == "sqlite":  # not even NULL has become JSON's null
        changed = {"worker": [], "api_token": []}
        assert contents(target) | changed == contents(engine) | changed
    target.dispose()


def test_where_checkpoints_were_is_forgotten(engine: Engine, tmp_path: Path) -> None:
    fill(engine)
    with writing(engine) as session:
        session.execute(update(Checkpoint).values(machine="box-ab12cd34"))
    transfer.snapshot(engine, tmp_path / "copy.db")
    here = keys(engine)
    target, _ = loaded(tmp_path / "copy.db", f"sqlite:///{tmp_path / 'again.db'}", here)
    with reading(target) as session:
        assert {checkpoint.machine for checkpoint in session.exec(select(Checkpoint))} == {None}
    assert keys(target) == here
    target.dispose()


@pytest.mark.parametrize("way", ["there", "back"])
def test_from_sqlite_to_the_other_and_back(empty_engine: Engine, tmp_path: Path, way: str) -> None:
    origin = make_engine(f"sqlite:///{tmp_path / 'origin.db'}")
    migrate.upgrade(origin)
    fill_ended(origin)
    transfer.snapshot(origin, tmp_path / "copy.db")
    with transfer.open_copy(tmp_path / "copy.db") as copy, empty_engine.begin() as connection:
        transfer.load(copy, connection, keys(origin))
    target = empty_engine
    if way == "back":
        transfer.snapshot(empty_engine, tmp_path / "second.db")
        target, _ = loaded(
            tmp_path / "second.db", f"sqlite:///{tmp_path / 'back.db'}", keys(origin)
        )
    assert {**everything(target), "worker": []} == {**everything(origin), "worker": []}
    known = {
        event.id
        for run in queries.list_runs(target, archived=True)
        for event in queries.events(target, run.id, limit=None)
    }
    run_id = submitted(target)  # its event needs a number that nobody has
    assert not known & {event.id for event in queries.events(target, run_id)}
    for one in {origin, target}:
        one.dispose()


def test_what_trained_is_queued_and_goes_on(engine: Engine, tmp_path: Path) -> None:
    own = training(engine)
    finish_epoch(engine, own, 1)
    starting, suspended, stopping = (
        in_status(engine, "starting"),
        in_status(engine, "suspended"),
        training(engine)["run_id"],
    )
    commands.request_stop(engine, run_id=stopping)
    transfer.snapshot(engine, tmp_path / "copy.db")
    target, found = loaded(tmp_path / "copy.db", f"sqlite:///{tmp_path / 'again.db'}", set())
    statuses = {run.id: run.status for run in queries.list_runs(target)}
    assert statuses == {
        own["run_id"]: "queued",
        starting: "queued",
        suspended: "suspended",
        stopping: "stopped",
    }
    assert found.queued == 2
    assert "Restored from a backup" in queries.events(target, own["run_id"])[0].text
    claim = commands.claim(target, run_id=own["run_id"], worker="w-2")
    assert claim is not None
    assert claim.attempt == own["attempt"] + 1
    target.dispose()


def test_a_script_that_trained_has_failed_in_the_copy(engine: Engine, tmp_path: Path) -> None:
    external.create(engine, run_id="script2345", name="s", config={}, host="h", hardware={})
    transfer.snapshot(engine, tmp_path / "copy.db")
    target, found = loaded(tmp_path / "copy.db", f"sqlite:///{tmp_path / 'again.db'}", set())
    (run,) = queries.list_runs(target)
    assert (run.status, found.queued, run.external) == ("failed", 0, True)
    assert (
        run.error == "The backup was made while the script trained. Its later reports are missing."
    )
    target.dispose()


def test_a_copy_sends_no_alerts(engine: Engine, tmp_path: Path) -> None:
    for name in ("on", "off"):
        channels.add(engine, name=name, kind="webhook", masked="m", options={}, secret="s")
    channels.switch(engine, channels.find(engine, "off").id, on=False)
    channel = channels.find(engine, "on")
    rule = rules.add(engine, channel_id=channel.id, event=rules.FAILED)
    found = deliveries.Found(rule, submitted(engine), "once", {})
    assert deliveries.record(engine, [found], rule_ids=[rule.id], seen=0) == 1
    transfer.snapshot(engine, tmp_path / "copy.db")
    target, counted = loaded(tmp_path / "copy.db", f"sqlite:///{tmp_path / 'again.db'}", set())
    assert counted.channels_off == 1
    assert not any(one.enabled for one in channels.listed(target))
    assert [one.state for one in deliveries.latest(target, limit=9)] == [deliveries.CANCELLED]
    assert channels.secret(target, channel.id) == "s"
    assert channels.find(engine, "on").enabled
    target.dispose()


def test_tokens_are_revoked_in_a_copy(engine: Engine, tmp_path: Path) -> None:
    _, secret = tokens.create(engine, name="a", owner="olga")
    transfer.snapshot(engine, tmp_path / "copy.db")
    target, _ = loaded(tmp_path / "copy.db", f"sqlite:///{tmp_path / 'again.db'}", set())
    assert tokens.find(target, secret) is None
    assert tokens.find(engine, secret) is not None
    target.dispose()


def test_the_audit_log_goes_on_counting(empty_engine: Engine, tmp_path: Path) -> None:
    origin = make_engine(f"sqlite:///{tmp_path / 'origin.db'}")
    migrate.upgrade(origin)
    audit.record(origin, who="olga", token_id=None, action="POST /runs", status=201)
    transfer.snapshot(origin, tmp_path / "copy.db")
    with transfer.open_copy(tmp_path / "copy.db") as copy, empty_engine.begin() as connection:
        transfer.load(copy, connection, set())
    audit.record(empty_engine, who="olga", token_id=None, action="POST /runs", status=201)
    with reading(empty_engine) as session:
        assert len(set(session.exec(select(AuditEntry.id)))) == 2
    origin.dispose()


def test_checkpoints_without_files_are_not_listed(engine: Engine, tmp_path: Path) -> None:
    own = training(engine)
    checkpoint(engine, own, 4)
    checkpoint(engine, own, 8)
    transfer.snapshot(engine, tmp_path / "copy.db")
    target, found = loaded(
        tmp_path / "copy.db", f"sqlite:///{tmp_path / 'again.db'}", {(own["run_id"], 4, 1)}
    )
    assert [listed.step for listed in queries.checkpoints(target, own["run_id"])] == [4]
    assert found.lost_checkpoints == 1
    target.dispose()


def test_the_copy_is_of_one_moment_while_others_write(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PAGES", 1)
    own = training(engine)
    done, written = threading.Event(), [0]

    def write() -> None:
        while not done.is_set():
            written[0] += 1
            steps(engine, own, written[0], 0, [0.5] * 4)
            finish_epoch(engine, own, written[0])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            path = tmp_path / f"{number}.db"
            before = len(queries.epochs(engine, own["run_id"]))
            transfer.snapshot(engine, path)
            with transfer.open_copy(path) as copy:
                run, epochs = (
                    queries.get_run(copy, own["run_id"]),
                    queries.epochs(copy, own["run_id"]),
                )
                assert run is not None
                assert run.epoch == len(epochs) >= before
    finally:
        done.set()
        writer.join()
    assert written[0] > 5


def _trigger(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END")


def _view(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE VIEW v AS SELECT 1")


def _virtual(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE VIRTUAL TABLE v USING fts5(words)")


def _nothing(connection: sqlite3.Connection) -> None:
    for (name,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table'"
    ).fetchall():
        connection.execute(f"DROP TABLE {name}")


def _column(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE run DROP COLUMN note")


def _status(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA ignore_check_constraints=ON")
    connection.execute("UPDATE run SET status = 'dancing'")


def _date(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE run SET created_at = 'yesterday'")


def _foreign(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE event SET run_id = 'nobody'")


@pytest.mark.parametrize(
    "harm", [_trigger, _view, _virtual, _nothing, _column, _status, _date, _foreign]
)
def test_copies_with_what_is_not_ours_are_refused(
    migrated_file: Path, tmp_path: Path, harm: Callable[[sqlite3.Connection], None]
) -> None:
    path = tmp_path / "copy.db"
    path.write_bytes(migrated_file.read_bytes())
    engine = make_engine(f"sqlite:///{path}")
    submitted(engine)
    transfer.save_settled(engine)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        harm(connection)
    with pytest.raises(BadCopy, match=r"^its database "):
        loaded(path, f"sqlite:///{tmp_path / 'again.db'}", set())


def test_a_copy_of_a_newer_version_is_refused(migrated_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.db"
    path.write_bytes(migrated_file.read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaTooNew, match="9999"):
        loaded(path, f"sqlite:///{tmp_path / 'again.db'}", set())


@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\0" + bytes(500), b"not a database at all" * 100]
)
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "copy.db"
    path.write_bytes(content)
    with pytest.raises(BadCopy), transfer.open_copy(path):
        pass


def test_not_a_number_and_negative_zero_survive(engine: Engine, tmp_path: Path) -> None:
    own = training(engine)
    with writing(engine) as session:
        run = session.get(Run, own["run_id"])
        assert run is not None
        run.g_loss, run.d_loss = math.nan, -0.0
    transfer.snapshot(engine, tmp_path / "copy.db")
    target, _ = loaded(tmp_path / "copy.db", f"sqlite:///{tmp_path / 'again.db'}", set())
    found = queries.get_run(target, own["run_id"])
    assert found is not None
    assert (str(found.g_loss), str(found.d_loss)) == ("nan", "-0.0")
    target.dispose()
