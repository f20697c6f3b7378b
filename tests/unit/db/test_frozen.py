"""Databases that every released version wrote open with this one: nothing is lost, every page's
queries answer, no kill does harm."""

from __future__ import annotations

import gzip
import io
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from alembic import op
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from ganboard.db import heartbeats, migrate, replacement, requests, stats, studies, transfer
from ganboard.db.curves import series, timeline
from ganboard.db.engine import make_engine
from ganboard.db.placement import backlog
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import listing, notifications, past_runs, queries, trash
from tests.frozen.make import frozen, revisions, upgrade_to
from tests.frozen.rows import EPOCHS, RUNS
from tests.unit.db.stored_runs import IN_FORK
from tests.unit.db.test_migrate import contents_of_known, drift

REVISIONS = revisions()
OPERATIONS = (
    "create_table",
    "add_column",
    "create_index",
    "execute",
    "drop_table",
    "drop_column",
    "drop_index",
    "batch_alter_table",
    "alter_column",
)


@contextmanager
def thawed(revision: str, folder: Path) -> Iterator[Engine]:
    """The frozen database as a file of its own."""
    path = folder / f"{revision}.db"
    path.write_bytes(gzip.decompress(frozen(revision).read_bytes()))
    engine = make_engine(f"sqlite:///{path}", pooled=False)
    yield engine
    engine.dispose()


# where values of former tables and columns are now; None: nowhere
MOVED = {"surface": "request", "drawing": None}
RENAMED = {
    "request": {
        "begun_at": "claimed_at",
        "beat_at": "heartbeat_at",
        "done": "progress",
        "arrays": "result",
    },
    "worker": {"beat_at": "heartbeat_at"},
}
# that were columns of `quality` until schema 0011
METRICS = ScriptDirectory.from_config(migrate._config(None)).get_revision("0012").module.METRICS
Contents = dict[str, tuple[list[str], list[str]]]


def moved(contents: Contents) -> Contents:
    """What a former schema held, under the present names."""
    found = {}
    for name, (columns, rows) in contents.items():
        if (table := MOVED.get(name, name)) is not None:
            renamed = RENAMED.get(table, {})
            found[table] = [renamed.get(column, column) for column in columns], rows
    return found


def kept(engine: Engine) -> Contents:
    """What an upgrade of this database must keep, under the present names; the metrics that were
    columns of `quality` are rows of `metric`."""
    before = contents_of_known(engine)
    columns = before["quality"][0] if "quality" in before else []
    if metrics := [name for name in columns if name in METRICS]:
        others = [name for name in columns if name not in METRICS]
        before |= contents_of_known(engine, only={"quality": (others, [])})
        with engine.connect() as connection:
            rows = [
                repr((run_id, epoch, name, value))
                for name in metrics
                for run_id, epoch, value in connection.execute(
                    sa.text(f'SELECT run_id, epoch, "{name}" FROM quality')
                )
                if value is not None
            ]
        before["metric"] = ["run_id", "epoch", "name", "value"], sorted(rows)
    return moved(before)


def fill_from(source: Engine, target: Engine) -> None:
    """The same rows in another database of the same revision."""
    with source.connect() as reading, target.begin() as writing:
        former = sa.MetaData()
        former.reflect(writing)
        for table in former.sorted_tables:
            if table.name == "alembic_version":
                continue
            whole = sa.Table(
                table.name,
                sa.MetaData(),
                *(sa.Column(column.name, _type(column)) for column in table.columns),
            )
            rows = [
                dict(row._mapping)
                for row in reading.execute(sa.select(transfer._plain(whole, reading)))
            ]
            writing.execute(sa.insert(transfer._plain(whole, writing)), rows)


def _type(column: sa.Column[Any]) -> sa.types.TypeEngine[Any]:
    """As the models have it, if they do."""
    now = SQLModel.metadata.tables.get(column.table.name)
    if now is not None and column.name in now.columns:
        return now.columns[column.name].type
    return UTCDateTime() if isinstance(column.type, sa.DateTime) else column.type


@pytest.fixture
def old(request: pytest.FixtureRequest, empty_engine: Engine, tmp_path: Path) -> Engine:
    """A database as the revision that is the test's parameter left it, on either kind of
    database."""
    revision = request.param
    if revision == "empty":
        return empty_engine
    with thawed(revision, tmp_path) as source:
        if empty_engine.dialect.name == "sqlite":
            assert empty_engine.url.database
            transfer.save_settled(source)
            Path(empty_engine.url.database).write_bytes((tmp_path / f"{revision}.db").read_bytes())
        else:
            upgrade_to(empty_engine, revision)
            fill_from(source, empty_engine)
    return empty_engine


def ask_everything(engine: Engine) -> None:
    """What the pages, the command line and the API ask, of every run."""
    runs = queries.list_runs(engine, archived=True, trash_too=True)
    ids = [run.id for run in runs]
    assert len(ids) == RUNS
    outside = RUNS - trash.count(engine)
    assert len(listing.list_all(engine)) == queries.count_runs(engine, archived=True) == outside
    assert stats.take(engine).epochs == RUNS * EPOCHS
    everything: list[Any] = [
        listing.list_all(engine, trash=True), trash.held(engine), trash.expired(engine),
        listing.ended_version(engine), listing.seconds_to_fid(engine, 1e300),
        notifications.notices(engine), listing.names(engine, limit=9), heartbeats.workers(engine),
        heartbeats.inference_workers(engine), stats.statistics(engine), stats.stored_bytes(engine),
        stats.largest_runs(engine, limit=9), past_runs.measured_runs(engine),
        past_runs.finished_configs(engine), past_runs.imported_runs(engine),
        run_annotations.tags_of(engine, ids), run_annotations.all_tags(engine),
        run_annotations.views(engine, "runs"),
        backlog.waiting_runs(engine), queries.newest_run_id(engine),
    ]  # fmt: skip
    for run in runs:
        assert [epoch.epoch for epoch in queries.epochs(engine, run.id)] == list(
            range(1, EPOCHS + 1)
        )
        losses = queries.step_losses(engine, run.id, 1)
        assert losses is not None
        assert len(losses.g_losses) == 4
        assert queries.events(engine, run.id, limit=None)
        assert queries.checkpoints(engine, run.id)
        everything += [
            queries.chart_version(engine, run.id), backlog.queue_position(engine, run),
            queries.qualities(engine, run.id), queries.step_series(engine, run.id, 1),
            queries.grids(engine, run.id), queries.samples(engine, run.id),
            timeline.of_run(engine, run.id),
        ]  # fmt: skip
        rates = series.step_series(engine, run.id, ["g_rate"])
        everything += [
            series.step_losses(engine, run.id), rates, series.events_frame(engine, run.id),
            series.samples_frame(engine, run.id),
            requests.of_runs(engine, requests.SURFACE, [run.id]),
        ]  # fmt: skip
    everything += [
        frame(engine, ids)
        for frame in (series.epochs_frame, series.quality_frame, series.measures_frame)
    ]
    everything += [
        series.speeds(engine, ids),
        series.evaluated(engine, ids),
        queries.drawable_runs(engine, limit=9),
        studies.listed(engine),
    ]
    everything += [studies.runs(engine, study.id) for study, _ in studies.listed(engine)]
    assert all(one is not None for one in everything[: len(ids)])


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_released_schema_is_frozen(revision: str) -> None:
    assert frozen(revision).exists(), (
        f"schema {revision} has no frozen database: run `python -m tests.frozen.make` and commit"
        " what it makes"
    )


@pytest.mark.parametrize("revision", REVISIONS)
def test_frozen_databases_have_rows_in_every_table(revision: str, tmp_path: Path) -> None:
    with thawed(revision, tmp_path) as engine:
        assert migrate.revision(engine) == revision
        found = contents_of_known(engine)
        assert set(found) == set(inspect(engine).get_table_names()) - {"alembic_version"}
        assert any("'nan'" in row for row in found["epoch"][1])


@pytest.mark.parametrize("old", REVISIONS, indirect=True)
def test_every_old_value_is_there_after_the_upgrade(old: Engine) -> None:
    before = kept(old)
    assert migrate.upgrade(old) == REVISIONS[-1]
    assert contents_of_known(old, only=before) == before
    assert drift(old) == []
    ask_everything(old)


@pytest.mark.parametrize("old", ["0009"], indirect=True)
def test_predictions_get_a_kind_and_their_picture_back(old: Engine) -> None:
    def stored(name: str, packed: bytes | None) -> dict[str, Any]:
        moment = datetime(2026, 2, 28, tzinfo=UTC)
        asked = {"id": name, "run_id": "frozen0000", "asked_at": moment, "arrays": packed}
        return asked | {
            "tries": 1,
            "phase": "",
            "done": 0.0,
            "options": {"prediction": {"steps": 3}},
        }

    buffer = io.BytesIO()
    np.savez_compressed(buffer, png=np.frombuffer(b"a png", np.uint8))
    with old.begin() as connection:
        former = sa.MetaData()
        former.reflect(connection, only=["surface"])
        surface = sa.Table(
            "surface",
            sa.MetaData(),
            *(sa.Column(c.name, _type(c)) for c in former.tables["surface"].columns),
        )
        for name, packed in {
            "good": buffer.getvalue(),
            "none": None,
            "torn": buffer.getvalue()[:-9],
        }.items():
            row = stored(name, packed)
            connection.execute(sa.insert(surface).values(**row, others=[], facts={}))
        connection.execute(sa.text("UPDATE worker SET name = 'box:painter:1' WHERE name = 'box:1'"))
    migrate.upgrade(old)
    found = {one.id: one for one in requests.of_runs(old, requests.PREDICTION, ["frozen0000"])}
    assert found.keys() == {"good", "none", "torn"}
    assert all(one.options == {"steps": 3} for one in found.values())
    assert (found["good"].result, found["good"].error) == (b"a png", None)
    assert (found["none"].result, found["none"].error) == (None, None)
    assert found["torn"].result is None
    assert "is damaged" in str(found["torn"].error)
    assert [state.worker.name for state in heartbeats.inference_workers(old)] == ["box:painter:1"]


@pytest.mark.parametrize("old", [*REVISIONS[::6], REVISIONS[-1]], indirect=True)
def test_an_old_database_makes_way_for_a_restored_one(old: Engine) -> None:
    assert replacement.occupants(old).runs == RUNS
    if old.dialect.name == "postgresql":  # SQLite's is a file that is replaced
        with old.begin() as connection:
            replacement.make_way(connection, None)
            assert inspect(connection).get_table_names() == []


def _upgrade_and_die(url: str, call: int) -> None:
    """Upgrade in this process, and be killed right after the given operation of a migration."""
    left = [call]

    def counted(operation: Any) -> Any:
        def instead(*arguments: Any, **options: Any) -> Any:
            done = operation(*arguments, **options)
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return instead

    for name in OPERATIONS:
        setattr(op, name, counted(getattr(op, name)))
    migrate.upgrade(make_engine(url, pooled=False))


STRIDE = 8


@pytest.mark.thorough
@pytest.mark.parametrize("old", ["empty", *REVISIONS[:-1]], indirect=True)
def test_a_kill_after_any_operation_of_any_migration_leaves_the_old_schema(
    old: Engine, url: str
) -> None:
    before, expected = contents_of_known(old), kept(old)
    found = migrate.revision(old)
    # every operation of the newest migrations; of a longer upgrade the first and every eighth, from
    # another one on for each schema
    newest = found in REVISIONS[-4:]
    calls = range(200) if newest else (0, *range(1 + int(found or 0) % STRIDE, 400, STRIDE))
    for call in calls:
        child = IN_FORK.Process(target=_upgrade_and_die, args=(url, call))
        child.start()
        child.join()
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        assert migrate.revision(old) == found
        assert contents_of_known(old) == before
    # the configurations of that database hold nothing that 0016 takes away
    assert call > 0 or found == "0015", "nothing was killed"
    assert migrate.revision(old) == REVISIONS[-1]
    assert contents_of_known(old, only=expected) == expected
    assert drift(old) == []
