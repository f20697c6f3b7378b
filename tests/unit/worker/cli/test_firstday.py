"""What `ganboard firstday` and `import` refuse, in one sentence and before anything is measured."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock

from ganboard.worker.context import Context
from tests.cli import ganboard, refused


def test_bad_options_are_refused(context: Context, tmp_path: Path) -> None:
    assert "--minutes 0 is invalid: it must be from 1 to 240." in refused(
        "firstday", "--minutes", "0"
    )
    assert "must end in .zip" in refused("firstday", "--bundle", str(tmp_path / "day.html"))
    absent = refused("firstday", "--bundle", str(tmp_path / "absent" / "day.zip"))
    assert "cannot be written (No such file or directory)" in absent


def test_a_second_day_at_once_is_refused(context: Context, tmp_path: Path) -> None:
    home = context.settings.prepare_home()
    with FileLock(home / "firstday.lock"):
        said = refused("firstday", "--quick", "--bundle", str(tmp_path / "day.zip"))
    assert "Another first day is running" in said


def test_a_bundle_that_is_not_there_is_refused(context: Context, tmp_path: Path) -> None:
    assert "There is no" in refused("import", str(tmp_path / "day.zip"))
    (tmp_path / "day.zip").write_bytes(b"PK half of a bundle")
    assert "is not a zip file" in refused("import", str(tmp_path / "day.zip"))


def test_the_help_names_the_parts(context: Context) -> None:
    said = " ".join(ganboard("firstday", "--help").output.split())
    for words in ("placement of a step", "one against n replicas", "killed and resumed"):
        assert words in said
