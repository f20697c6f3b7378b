"""How long the upgrade of a large database of the first version takes: `python -m
tests.scale.upgrade [--rows N] [--postgres URL]`.

It makes 1,000 runs with N epochs and N events of them all together, in a temporary folder or in a
schema of its own that is dropped again.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
from pathlib import Path

from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from ganboard.db import migrate
from ganboard.db.engine import make_engine
from tests.frozen.make import upgrade_to

RUNS = 1000
_SERIES = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) ",
    "postgresql": "WITH n AS (SELECT i FROM generate_series(1, {}) AS i) ",
}
_RUN = "substr('r00000000' || {i}, length('r00000000' || {i}) - 8)"
_MOMENT = "'2026-01-01 00:00:00.000000'"


def fill(engine: Engine, rows: int) -> None:
    """As the first version would have stored it."""
    kind = engine.dialect.name
    insert = (
        "{before} INSERT INTO {what} FROM n"
        if kind == "postgresql"
        else "INSERT INTO {what} FROM ({before} SELECT i FROM n) AS n"
    )

    def put(count: int, table: str, columns: str, values: str) -> None:
        before = _SERIES[kind].format(count)
        with engine.begin() as connection:
            connection.execute(
                text(insert.format(before=before, what=f"{table} ({columns}) SELECT {values}"))
            )

    run_id = _RUN.format(i="i")
    put(
        RUNS, "run", "id, name, status, config, preset, created_at, queued_at, attempt, failures,"
                     " epoch, step, seconds",
        f"{run_id}, 'a run', 'finished', '{{\"batch_size\": 64}}', '', {_MOMENT}, {_MOMENT}, 1, 0,"
        " 1, 1, 1.0",
    )  # fmt: skip
    of_run = _RUN.format(i=f"(1 + i % {RUNS})")
    put(
        rows, "epoch",
        "run_id, epoch, attempt, finished_at, steps, images, g_loss, d_loss, seconds,"
        " compile_seconds, g_x, g_y, d_x, d_y",
        f"{of_run}, 1 + i / {RUNS}, 1, {_MOMENT}, 938, 60032, 0.7, 1.4, 2.5, 0.0, 0.1, 0.2, 0.3,"
        " 0.4",
    )  # fmt: skip
    put(
        rows,
        "event",
        "run_id, attempt, at, level, text",
        f"{of_run}, 1, {_MOMENT}, 'info', 'something happened to this run'",
    )


def measure(engine: Engine, rows: int) -> None:
    upgrade_to(engine, "0001")
    fill(engine, rows)
    began = time.perf_counter()
    newest = migrate.upgrade(engine)
    print(
        f"{engine.dialect.name}: 0001 to {newest} with {rows:,} epochs and {rows:,} events in"
        f" {time.perf_counter() - began:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--postgres", help="URL of a PostgreSQL database in which a schema may be made"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(
            make_engine(f"sqlite:///{Path(folder, 'ganboard.db')}", pooled=False), arguments.rows
        )
    if arguments.postgres:
        server = make_url(arguments.postgres).set(drivername="postgresql+psycopg")
        schema = f"upgrade_{secrets.token_hex(6)}"
        admin = make_engine(server.render_as_string(hide_password=False))
        with admin.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {schema}"))
        try:
            url = server.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(
                hide_password=False
            )
            measure(make_engine(url), arguments.rows)
        finally:
            with admin.begin() as connection:
                connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))


if __name__ == "__main__":
    main()
