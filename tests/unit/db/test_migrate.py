from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Engine, inspect, text
from sqlmodel import Session, SQLModel

from ganboard.db import migrate
from ganboard.db.engine import make_engine
from ganboard.db.errors import SchemaTooNew, Unreachable
from ganboard.db.models import Epoch, Run, SavedView, StepLosses, Study
from ganboard.db.runs import commands, queries, reports
from tests.unit.db.stored_runs import IN_FORK, contents, finish_epoch, in_status, quality, training

ROOT = Path(migrate.__file__).parents[2]
HEAD = "0029"
AFTER = f"{int(HEAD) + 1:04}"
NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "{after}"
down_revision = "{head}"
branch_labels = None
depends_on = None


def upgrade():
    recreate = "always" if op.get_bind().dialect.name == "sqlite" else "auto"
    with op.batch_alter_table("run", recreate=recreate) as batch:
        batch.add_column(sa.Column("remarks", sa.Text(), nullable=True))
"""
KILLED = """
import os, signal, sys
from alembic import op
from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade

made = op.create_table

def create_table(name, *columns, **options):
    table = made(name, *columns, **options)
    if name == "epoch":  # neither the first nor the last
        print("half-way", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return table

op.create_table = create_table
upgrade(make_engine(sys.argv[1]))
"""


def drift(engine: Engine) -> list[object]:
    """What alembic would change to make the tables what the models say."""
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        return list(compare_metadata(context, SQLModel.metadata))


def tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names())


@contextmanager
def next_version(folder: Path) -> Iterator[None]:
    """As if ganboard had one more migration, which rebuilds a table that others refer to."""
    newer = folder / "100% newer"
    shutil.copytree(migrate.MIGRATIONS, newer)
    (newer / "versions" / f"{AFTER}_notes.py").write_text(NEXT.format(head=HEAD, after=AFTER))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "MIGRATIONS", newer)
        yield


def insert_former(connection: Connection, row: SQLModel) -> None:
    """A row in a database of an older schema, without newer columns and their defaults."""
    model = type(row).__table__  # type: ignore[attr-defined]
    known = [column["name"] for column in inspect(connection).get_columns(model.name)]
    old = sa.table(model.name, *(sa.column(name, model.c[name].type) for name in known))
    connection.execute(sa.insert(old).values({name: getattr(row, name) for name in known}))


def test_an_empty_database_gets_the_whole_schema(empty_engine: Engine) -> None:
    assert migrate.revision(empty_engine) is None
    assert migrate.upgrade(empty_engine) == migrate.head() == HEAD
    assert migrate.revision(empty_engine) == HEAD
    assert tables(empty_engine) == {table.name for table in SQLModel.metadata.sorted_tables} | {
        "alembic_version"
    }
    assert drift(empty_engine) == []
    assert queries.list_runs(empty_engine) == []


def test_runs_studies_and_views_of_street_are_renamed(empty_engine: Engine) -> None:
    engine = empty_engine
    with engine.begin() as connection:
        command.upgrade(migrate._config(connection), "0010")
    settings = {"dataset": "street", "images_path": "street", "limit": 1.5}
    part = {"settings": {"dataset": "street"}, "vary": {"dataset": ["street", "digits"]}}
    definition = {"name": "street", "settings": settings, "parts": [part]}
    with Session(engine) as session:
        for run in (
            Run(id="a", name="street", status="queued", config=settings, preset="street"),
            Run(id="b", name="b", status="queued", config={"dataset": ["?"]}, preset="tiny"),
        ):
            insert_former(session.connection(), run)
        session.add(Study(id="c", name="street", title="", definition=definition))
        query = "q=dataset%3Dstreet+preset%3Astreet_tiny+street"
        session.add(SavedView(name="street", page="runs", query=query))
        session.commit()
    assert migrate.upgrade(engine) == HEAD
    with Session(engine) as session:
        run, other = session.get_one(Run, "a"), session.get_one(Run, "b")
        study, view = session.get_one(Study, "c"), session.get_one(SavedView, "street")
    renamed = {**settings, "dataset": "vortex_street"}
    assert (run.name, run.config, run.preset) == ("street", renamed, "vortex_street")
    assert (other.config, other.preset) == ({"dataset": ["?"]}, "tiny")
    assert study.name == study.definition["name"] == "vortex_street"
    assert study.definition["settings"] == renamed
    assert study.definition["parts"][0] == {
        "settings": {"dataset": "vortex_street"},
        "vary": {"dataset": ["vortex_street", "digits"]},
    }
    assert view.query == "q=dataset%3Dvortex_street+preset%3Avortex_street_tiny+street"


def test_drift_would_be_seen(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX ix_run_status"))
        connection.execute(text("ALTER TABLE run ADD COLUMN stray INTEGER"))
    assert len(drift(engine)) == 2


def test_upgrading_again_changes_nothing(engine: Engine) -> None:
    in_status(engine, "running")
    before = contents(engine)
    assert migrate.upgrade(engine) == HEAD
    assert contents(engine) == before


def test_rows_survive_a_migration_that_rebuilds_the_table_they_hang_on(
    engine: Engine, tmp_path: Path
) -> None:
    own = training(engine)
    finish_epoch(engine, own, 1)
    before = contents(engine)
    with next_version(tmp_path):
        assert migrate.upgrade(engine) == AFTER
    after = contents(engine)
    assert len(after["run"]) == 1
    assert {**after, "run": []} == {**before, "run": []}
    commands.finish(engine, **own, status="finished")
    commands.delete_run(engine, run_id=own["run_id"])  # and they still go with their run
    assert contents(engine)["epoch"] == []


def test_a_database_of_the_first_version_keeps_its_rows(empty_engine: Engine) -> None:
    engine = empty_engine
    with engine.begin() as connection:
        command.upgrade(migrate._config(connection), "0001")
    moment = datetime(2026, 2, 28, 23, 59, 59, 123456, tzinfo=UTC)
    run = Run(
        id="abcdefghjk",
        name="old",
        status="running",
        config={"seed": 1},
        attempt=1,
        created_at=moment,
        queued_at=moment,
        g_loss=math.nan,
    )
    losses = np.array([0.5, math.nan], np.float32)
    own: dict[str, Any] = {"run_id": run.id, "attempt": 1, "epoch": 1}
    figures: dict[str, Any] = dict.fromkeys(
        ("g_loss", "d_loss", "seconds", "compile_seconds", "g_x", "g_y", "d_x", "d_y"), 0.1
    )
    with engine.begin() as connection:
        for row in (
            run,
            Epoch(**own, steps=2, images=128, **figures),
            StepLosses(**own, g_losses=losses, d_losses=losses),
        ):
            insert_former(connection, row)
    before = contents_of_known(engine)
    assert migrate.upgrade(engine) == HEAD
    assert drift(engine) == []
    stored = queries.get_run(engine, run.id)
    (epoch,) = queries.epochs(engine, run.id)
    assert stored is not None
    assert (stored.facts, epoch.measures, str(stored.g_loss), stored.created_at) == (
        {},
        {},
        "nan",
        moment,
    )
    assert contents_of_known(engine, only=before) == before
    reports.add_facts(engine, run_id=run.id, attempt=1, values={"form": "plain"})
    quality(engine, {"run_id": run.id, "attempt": 1}, 1)
    finish_epoch(engine, {"run_id": run.id, "attempt": 1}, 1, measures={"gflops": 1.0})
    assert queries.epochs(engine, run.id)[0].measures == {"gflops": 1.0}


def contents_of_known(
    engine: Engine, only: dict[str, tuple[list[str], list[str]]] | None = None
) -> dict[str, tuple[list[str], list[str]]]:
    """Per table that holds rows: the names of its columns and the rows as the database has them; of
    `only` those tables and columns."""
    found = {}
    with engine.connect() as connection:
        for name in only or tables(engine) - {"alembic_version"}:
            columns = (
                only[name][0]
                if only
                else [str(column["name"]) for column in inspect(connection).get_columns(name)]
            )
            quoted = ", ".join(f'"{column}"' for column in columns)
            rows = sorted(map(repr, connection.execute(text(f"SELECT {quoted} FROM {name}")).all()))
            if rows:
                found[name] = (columns, rows)
    return found


def test_a_database_of_a_newer_version_is_refused_untouched(engine: Engine, tmp_path: Path) -> None:
    in_status(engine, "finished")
    with next_version(tmp_path):
        migrate.upgrade(engine)
    before, names = contents(engine), tables(engine)
    for refused in (migrate.upgrade, migrate.revision):
        with pytest.raises(
            SchemaTooNew,
            match=(
                rf"^The database has schema {AFTER}, but this ganboard supports schemas up to"
                rf" {HEAD}\. Update ganboard"
            ),
        ):
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
        assert (
            pool.starmap(_upgrade, [(url, time.monotonic() + 0.2)] * 4, chunksize=1) == [HEAD] * 4
        )
    assert drift(empty_engine) == []


@pytest.mark.thorough
def test_a_migration_killed_half_way_leaves_nothing_behind(empty_engine: Engine, url: str) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, url],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "half-way\n"), killed.stderr
    assert tables(empty_engine) == set()
    assert migrate.revision(empty_engine) is None
    assert migrate.upgrade(empty_engine) == HEAD
    assert drift(empty_engine) == []


def test_what_cannot_be_reached_cannot_be_upgraded() -> None:
    engine = make_engine("postgresql+psycopg://someone:geheim@127.0.0.1:1/ganboard")
    for refused in (migrate.upgrade, migrate.revision):
        with pytest.raises(
            Unreachable,
            match=(
                r"^The database postgresql\+psycopg://someone:\*\*\*@127.0.0.1:1/ganboard cannot be"
                r" used \(.*$"
            ),
        ):
            refused(engine)
    engine.dispose()
