"""Files of a run are opened below its own directory, and through no link that somebody has put
there."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.app.run.log.file import tail
from ganboard.db.models import Run
from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.context import Context
from ganboard.worker.interchange.export import export, export_zip
from ganboard.worker.queue.attempt import log_of
from ganboard.worker.safe_files import open_inside
from tests.factories import make_run as stored_run


@pytest.mark.parametrize(
    "run_id", ["", ".", "..", "../other", "a/b", "/etc", "A", "a.b", "a\0", "a" * 33, "\u0661"]
)
def test_what_is_no_id_names_no_directory(home: Path, run_id: str) -> None:
    with pytest.raises((SettingsError, ValueError)):
        Settings().run_dir(run_id)


def test_a_run_directory_that_is_a_link_is_refused_and_runs_may_be_one(
    home: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "large disk"
    (elsewhere / "abc").mkdir(parents=True)
    home.mkdir()
    (home / "runs").symlink_to(elsewhere)
    assert Settings().log_path("abc") == home / "runs" / "abc" / "train.log"
    (elsewhere / "def").symlink_to(tmp_path)
    with pytest.raises(
        SettingsError, match=r"def is not the directory of a run\. .* not a link\.$"
    ):
        Settings().log_path("def")


def _link(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def _pipe(path: Path, secret: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, secret: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("place", [_link, _pipe, _folder])
def test_only_plain_files_are_opened(tmp_path: Path, place: Callable[[Path, Path], None]) -> None:
    secret, directory = tmp_path / "secret", tmp_path / "run"
    secret.write_text("geheim")
    directory.mkdir()
    place(directory / "train.log", secret)
    with pytest.raises(FileNotFoundError):
        open_inside(directory, "train.log")
    assert tail(directory / "train.log") is None


def test_a_link_on_the_way_is_refused_as_well_as_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file").write_text("geheim")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoints").symlink_to(tmp_path / "secret")
    for name in ("checkpoints/file", "../secret/file", str(tmp_path / "secret" / "file")):
        with pytest.raises(FileNotFoundError):
            open_inside(tmp_path / "run", name)
    (tmp_path / "run" / "file").write_text("own")
    with open_inside(tmp_path / "run", "file") as file:
        assert file.read() == b"own"


def test_an_export_takes_no_foreign_file_along_and_a_log_is_written_into_none(
    context: Context, tmp_path: Path
) -> None:
    run: Run = stored_run(context, "exported", epochs=1)
    log = context.settings.log_path(run.id)
    log.parent.mkdir(parents=True, exist_ok=True)
    secret = tmp_path / "secret"
    secret.write_text("geheim")
    log.unlink(missing_ok=True)
    log.symlink_to(secret)
    assert "train.log" not in {path.name for path in export(context, run, tmp_path / "out")}
    export_zip(context, run, tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert not [name for name in archive.namelist() if name.endswith(".log")]
    with pytest.raises(OSError, match="symbolic links"), log_of(context, run.id, 1):
        pytest.fail("it was opened")
    assert secret.read_text() == "geheim"
    log.unlink()
    log.write_text("ours")
    assert "train.log" in {path.name for path in export(context, run, tmp_path / "again")}
