"""An installation moved while it trains: what is restored goes on by itself and has the losses of
one that was never disturbed."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from ganboard.db.runs import commands, queries
from ganboard.db.settings import Settings
from ganboard.gan.events import EpochDone, Event
from ganboard.gan.presets import load
from ganboard.worker.backup import backup, restore
from ganboard.worker.context import Context, open_context
from ganboard.worker.submission.submit import submit
from ganboard.worker.terminal.progress_bar import ProgressBar
from ganboard.worker.training.trainer import train_in_process

# an empty database of either kind; asked for first, since `home` clears the environment
from tests.unit.db.conftest import url  # noqa: F401


def hexes(context: Context, run_id: str) -> list[tuple[int, str, str]]:
    return [
        (e.epoch, e.g_loss.hex(), e.d_loss.hex()) for e in queries.epochs(context.engine, run_id)
    ]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_restored_run_goes_on_with_equal_losses(
    url: str,  # noqa: F811
    context: Context,
    tmp_path: Path,
) -> None:
    settings = load("tiny", {"epochs": 4, "checkpoint_every": 1})
    run, archive = submit(context, settings), tmp_path / "saved.zip"

    def save_while_it_trains(event: Event) -> None:
        if isinstance(event, EpochDone) and event.epoch == 3:  # of which there is no checkpoint yet
            backup.backup(context, archive, ProgressBar("backup", "bytes", quiet=True))

    assert train_in_process(context, run.id, on_event=save_while_it_trains) == "finished"

    there = Settings(home=tmp_path / "there", database_url=url)
    done = restore.restore(there, archive, ProgressBar("backup", "bytes", quiet=True))
    restored = open_context(there)
    assert done.queued == 1
    stored = queries.get_run(restored.engine, run.id)
    assert stored is not None
    assert (stored.status, stored.epoch) == ("queued", 3)
    assert train_in_process(restored, run.id) == "finished"
    assert hexes(restored, run.id) == hexes(context, run.id)
    assert [e.epoch for e in queries.epochs(restored.engine, run.id)] == [1, 2, 3, 4]
    assert not [
        event.text for event in queries.events(restored.engine, run.id) if "differ" in event.text
    ]
    restored.engine.dispose()


@pytest.mark.thorough
@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_force_puts_postgresqls_tables_into_a_schema_of_their_own(
    url: str,  # noqa: F811
    context: Context,
    tmp_path: Path,
) -> None:
    commands.create_run(context.engine, name="new", config={})
    backup.backup(context, tmp_path / "saved.zip", ProgressBar("backup", "bytes", quiet=True))
    there = Settings(home=tmp_path / "there", database_url=url)
    old = open_context(there)
    commands.create_run(old.engine, name="old", config={})
    with pytest.raises(restore.RestoreRefused, match=r"already contain runs \(1\)"):
        restore.restore(there, tmp_path / "saved.zip", ProgressBar("backup", "bytes", quiet=True))
    done = restore.restore(
        there, tmp_path / "saved.zip", ProgressBar("backup", "bytes", quiet=True), force=True
    )
    assert [run.name for run in queries.list_runs(old.engine)] == ["new"]
    schema = Path(str(done.aside)).name.replace("-", "_")
    with old.engine.begin() as connection:
        assert connection.scalar(text(f"SELECT name FROM {schema}.run")) == "old"
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    commands.create_run(old.engine, name="another", config={})
    old.engine.dispose()
