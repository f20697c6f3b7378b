"""Many processes on one database, and one whose log is cut short: small rounds; `python -m
tests.crash.database` takes its time."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.crash.database import (
    claim_all_at_once,
    fault_of_copy,
    faults_of_copies,
    writers_and_readers,
    written_history,
)
from tests.unit.db.conftest import engine, migrated_schema, url

__all__ = ["engine", "migrated_schema", "url"]  # fixtures


def test_of_many_claims_exactly_one_wins(engine: Engine, url: str) -> None:
    engine.dispose()
    seconds, winners = claim_all_at_once(url, 25)
    assert len(seconds) == 8 * 25
    assert set(winners.values()) == {1}
    assert len(winners) == 25


def test_writers_and_readers_never_hear_that_the_database_is_locked(
    engine: Engine, url: str
) -> None:
    engine.dispose()
    writes, reads, epochs = writers_and_readers(url, 2.0)
    assert len(writes) == 3 * epochs
    assert min(epochs, len(reads)) >= 8


def test_a_log_that_ends_anywhere_gives_a_prefix_of_what_was_acknowledged(tmp_path: Path) -> None:
    assert list(faults_of_copies(tmp_path, 40, commits=20, seed=1)) == []


def test_a_row_that_is_missing_in_the_middle_is_found(tmp_path: Path) -> None:
    notes = written_history(tmp_path / "ganboard.db", 5)
    cut = tmp_path / "ganboard.db.cut"
    with sqlite3.connect(cut) as connection:
        connection.execute("DELETE FROM event WHERE text = 'note 2'")
    connection.close()  # which takes the log up
    Path(f"{cut}-wal").touch()
    words = fault_of_copy(cut, tmp_path / "copy.db", notes, 0, None)
    assert words is not None
    assert "without an earlier one" in words


@pytest.mark.parametrize("length", [0, 10**9])
def test_the_whole_log_and_none_of_it(tmp_path: Path, length: int) -> None:
    notes = written_history(tmp_path / "ganboard.db", 5)
    assert (
        fault_of_copy(tmp_path / "ganboard.db.cut", tmp_path / "copy.db", notes, length, None)
        is None
    )
