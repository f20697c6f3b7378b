"""A database of every released schema, made once and never again: `python -m tests.frozen.make`
after a new migration, then commit.

A file that is there is left alone: it is what that version of ganboard wrote.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from ganboard.db import migrate
from ganboard.db.engine import make_engine
from ganboard.db.transfer import save_settled
from tests.frozen.rows import fill

FOLDER = Path(__file__).parent


def revisions() -> list[str]:
    """Every released schema, the oldest first."""
    return [
        script.revision
        for script in ScriptDirectory.from_config(migrate._config(None)).walk_revisions()
    ][::-1]


def frozen(revision: str) -> Path:
    return FOLDER / f"{revision}.sqlite3.gz"


def upgrade_to(engine: Engine, revision: str) -> None:
    with engine.begin() as connection:
        command.upgrade(migrate._config(connection), revision)


def make(revision: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ganboard.db")
        engine = make_engine(f"sqlite:///{path}", pooled=False)
        upgrade_to(engine, revision)
        fill(engine)
        save_settled(engine)
        frozen(revision).write_bytes(gzip.compress(path.read_bytes(), mtime=0))


if __name__ == "__main__":
    for one in revisions():
        if not frozen(one).exists():
            make(one)
            print(frozen(one).name, f"{frozen(one).stat().st_size:,} bytes")
