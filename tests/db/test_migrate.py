from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, inspect, text
from sqlmodel import SQLModel

from db import commands, migrate, queries
from db.engine import make_engine
from db.errors import SchemaTooNew, Unreachable
from tests.db.runs import IN_FORK, contents, finish_epoch, in_status, training

ROOT = Path(migrate.__file__).parents[1]
NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade():
    with op.batch_alter_table("run", recreate="always" if op.get_bind().dialect.name == "sqlite" else "auto") as batch:
        batch.add_column(sa.Column("notes", sa.Text(), nullable=True))
"""
KILLED = """
import os, signal, sys
from alembic import op
from db.engine import make_engine
from db.migrate import upgrade

made = op.create_table

def create_table(name, *columns, **options):
    table = made(name, *columns, **options)
    if name == "epoch":  # the fourth of eight
        print("half-way", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return table

op.create_table = create_table
upgrade(make_engine(sys.argv[1]))
"""


def drift(engine: Engine) -> list[object]:
    """What alembic would change to make the tables what the models say."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        return list(compare_metadata(context, SQLModel.metadata))


def tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names())


@contextmanager
def next_version(folder: Path) -> Iterator[None]:
    """As if ganboard had one more migration, which rebuilds a table that others refer to."""
    newer = folder / "100% newer"
    shutil.copytree(migrate.MIGRATIONS, newer)
    (newer / "versions" / "0002_notes.py").write_text(NEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "MIGRATIONS", newer)
        yield


def test_an_empty_database_gets_the_whole_schema(empty_engine: Engine) -> None:
    assert migrate.revision(empty_engine) is None
    assert migrate.upgrade(empty_engine) == migrate.head() == "0001"
    assert migrate.revision(empty_engine) == "0001"
    assert tables(empty_engine) == {table.name for table in SQLModel.metadata.sorted_tables} | {"alembic_version"}
    assert drift(empty_engine) == []
    assert queries.list_runs(empty_engine) == []


def test_drift_would_be_seen(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX ix_run_status"))
        connection.execute(text("ALTER TABLE run ADD COLUMN stray INTEGER"))
    assert len(drift(engine)) == 2


def test_upgrading_again_changes_nothing(engine: Engine) -> None:
    in_status(engine, "running")
    before = contents(engine)
    assert migrate.upgrade(engine) == "0001"
    assert contents(engine) == before


def test_rows_survive_a_migration_that_rebuilds_the_table_they_hang_on(engine: Engine, tmp_path: Path) -> None:
    own = training(engine)
    finish_epoch(engine, own, 1)
    before = contents(engine)
    with next_version(tmp_path):
        assert migrate.upgrade(engine) == "0002"
    after = contents(engine)
    assert len(after["run"]) == 1
    assert {**after, "run": []} == {**before, "run": []}
    commands.finish(engine, **own, status="finished")
    commands.delete_run(engine, run_id=own["run_id"])  # and they still go with their run
    assert contents(engine)["epoch"] == []


def test_a_database_of_a_newer_version_is_refused_untouched(engine: Engine, tmp_path: Path) -> None:
    in_status(engine, "finished")
    with next_version(tmp_path):
        migrate.upgrade(engine)
    before, names = contents(engine), tables(engine)
    for refused in (migrate.upgrade, migrate.revision):
        with pytest.raises(SchemaTooNew, match=r"^The database has schema 0002, but this ganboard knows only up to 0001: update ganboard"):
            refused(engine)
    assert (contents(engine), tables(engine)) == (before, names)


def _upgrade(url: str, start: float) -> str:
    engine = make_engine(url)
    while time.monotonic() < start:  # all at the same moment
        pass
    found = migrate.upgrade(engine)
    engine.dispose()
    return found


def test_processes_that_upgrade_at_once_agree(empty_engine: Engine, url: str) -> None:
    with IN_FORK.Pool(4) as pool:
        assert pool.starmap(_upgrade, [(url, time.monotonic() + 0.2)] * 4, chunksize=1) == ["0001"] * 4
    assert drift(empty_engine) == []


def test_a_migration_killed_half_way_leaves_nothing_behind(empty_engine: Engine, url: str) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, url], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "half-way\n"), killed.stderr
    assert tables(empty_engine) == set()
    assert migrate.revision(empty_engine) is None
    assert migrate.upgrade(empty_engine) == "0001"
    assert drift(empty_engine) == []


def test_what_cannot_be_reached_cannot_be_upgraded() -> None:
    engine = make_engine("postgresql+psycopg://someone:geheim@127.0.0.1:1/ganboard")
    for refused in (migrate.upgrade, migrate.revision):
        with pytest.raises(
            Unreachable, match=r"^The database postgresql\+psycopg://someone:\*\*\*@127.0.0.1:1/ganboard cannot be used \(.*$"
        ):
            refused(engine)
    engine.dispose()
