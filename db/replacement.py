"""What a database contains that a restored one would replace, and how it makes way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlmodel import SQLModel, col

from ganboard.db.clock import now
from ganboard.db.engine import clear_errors
from ganboard.db.heartbeats import WORKER_ALIVE_SECONDS
from ganboard.db.models import ACTIVE, Run, Worker

FORMER_TABLES = ("drawing", "surface")  # until schema 0009


@dataclass(frozen=True)
class Occupants:
    """What a database contains that must not be lost, and which workers use it."""

    runs: int
    others: int  # studies, saved views, versions of models and channels of alerts
    alive: tuple[str, ...]  # workers of both kinds, and runs in training


def occupants(engine: Engine) -> Occupants:
    """Of a database of any revision, empty ones included. Raises Unreachable."""
    with clear_errors(engine), engine.connect() as connection:
        there = set(sa.inspect(connection).get_table_names())

        def count(*names: str) -> int:
            return sum(
                connection.scalar(sa.select(sa.func.count()).select_from(sa.table(n))) or 0
                for n in names
                if n in there
            )

        alive: list[str] = []
        if {"worker", "run"} <= there:
            columns = {one["name"] for one in sa.inspect(connection).get_columns("worker")}
            heartbeat_at: sa.ColumnClause[datetime] = sa.column(
                "heartbeat_at" if "heartbeat_at" in columns else "beat_at"  # until schema 0009
            )
            alive += connection.scalars(
                sa.select(col(Worker.name)).where(heartbeat_at > now(-WORKER_ALIVE_SECONDS))
            )
            training = sa.select(col(Run.id)).where(
                col(Run.status).in_(ACTIVE), col(Run.lease_until) > now()
            )
            alive += (f"run {run_id}" for run_id in connection.scalars(training))
        others = count("study", "saved_view", "saved_board", "model_version", "alert_channel")
        return Occupants(count("run"), others, tuple(alive))


def make_way(connection: Connection, schema: str | None) -> None:
    """Take our tables out of a PostgreSQL database: into a new `schema`, or, with None, away;
    within the caller's transaction."""
    there = set(sa.inspect(connection).get_table_names())
    present = [table.name for table in reversed(SQLModel.metadata.sorted_tables)]
    ours = [name for name in (*FORMER_TABLES, *present) if name in there]
    if schema:
        connection.execute(sa.schema.CreateSchema(schema))
    for name in (*ours, *({"alembic_version"} & there)):
        connection.exec_driver_sql(
            f'ALTER TABLE "{name}" SET SCHEMA "{schema}"' if schema else f'DROP TABLE "{name}"'
        )


def mark(connection: Connection, token: int) -> None:
    """Write a number beside the tables, within the caller's transaction: `marked` finds it once
    that is committed."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA user_version={token}")
    else:
        connection.exec_driver_sql(f"COMMENT ON TABLE alembic_version IS 'restored {token}'")


def marked(engine: Engine, token: int) -> bool:
    """Whether the database bears this number. Raises Unreachable."""
    if engine.dialect.name == "sqlite":
        try:
            # to open it as a database would already change what lies beside it
            with Path(engine.url.database or "").open("rb") as file:
                # https://sqlite.org/fileformat.html#the_database_header
                return int.from_bytes(file.read(64)[60:64], "big") == token
        except FileNotFoundError:
            return False
    with clear_errors(engine), engine.connect() as connection:
        return bool(
            connection.scalar(sa.text("SELECT obj_description(to_regclass('alembic_version'))"))
            == f"restored {token}"
        )
