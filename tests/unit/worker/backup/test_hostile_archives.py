"""Archives that are damaged, foreign or hostile are refused before anything changes."""

from __future__ import annotations

import random
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ganboard.worker.backup import restore
from ganboard.worker.backup.backup import DATABASE
from ganboard.worker.backup.restore import BadBackup
from ganboard.worker.context import Context
from tests.unit.worker.backup.archives import QUIET, elsewhere, files, rewritten, rows


def _name(name: str) -> Callable[[dict[str, bytes], dict[str, Any]], None]:
    return lambda members, _: members.update({name: b"x"})


def _changed(**changes: Any) -> Callable[[dict[str, bytes], dict[str, Any]], None]:
    return lambda _, manifest: manifest.update(changes)


HOSTILE: dict[str, tuple[Callable[[dict[str, bytes], dict[str, Any]], None], str]] = {
    "up": (_name("runs/../../evil"), "contains '..'"),
    "absolute": (_name("/etc/evil"), "absolute"),
    "elsewhere": (_name("redis/appendonly.aof"), "is not a file of a backup"),
    "hidden": (_name("runs/abc/.evil"), "is not a file of a backup"),
    "a run with dots": (_name("runs/../abc"), "contains '..'"),
    "no database": (lambda members, _: members.pop(DATABASE) and None, "is missing"),
    "no sqlite": (lambda members, _: members.update({DATABASE: b"x" * 9000}), "cannot be read"),
    "newer schema": (_changed(revision="9999"), "has schema 9999"),
    "newer format": (_changed(format=2), "has format 2"),
    "another kind": (_changed(kind="cookbook"), "is invalid"),
    "no files": (_changed(files=None), "is invalid"),
    "extra": (_changed(evil=1), "is invalid"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archives_are_refused_before_anything_changes(
    archive: Path, tmp_path: Path, kind: str
) -> None:
    change, words = HOSTILE[kind]
    bad = rewritten(archive, tmp_path / "bad.zip", change)
    there = elsewhere(tmp_path)
    with pytest.raises(Exception, match=words) as refusal:
        restore.restore(there, bad, QUIET)
    assert "\n" not in str(refusal.value)
    assert not (there.state / "runs").exists()
    assert not (there.state / "ganboard.db").exists()
    assert {path.name for path in there.state.glob("restore*")} <= {"restore.lock"}
    assert not (tmp_path / "evil").exists()


def test_links_compression_and_foreign_zips_are_refused(archive: Path, tmp_path: Path) -> None:
    there = elsewhere(tmp_path)
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    foreign = tmp_path / "foreign.zip"
    with zipfile.ZipFile(foreign, "w") as new:
        new.writestr("holiday.jpg", b"x")
    linked = tmp_path / "linked.zip"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(linked, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
        info = zipfile.ZipInfo("runs/abc/train.log")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        new.writestr(info, "/etc/passwd")
    for path, words in (
        (packed, "is compressed"),
        (foreign, "not made by `ganboard backup`"),
        (linked, "link or device"),
    ):
        with pytest.raises(BadBackup, match=words):
            restore.restore(there, path, QUIET)
    assert not there.state.exists()


def test_damage_is_noticed_or_harmless(filled: Context, archive: Path, tmp_path: Path) -> None:
    """Bytes changed and ends cut off anywhere: it is refused and nothing has changed, or what is
    restored is the same."""
    whole, random_ = archive.read_bytes(), random.Random(7)
    expected_files, expected_rows = files(filled.settings), rows(filled.settings)
    bad, refusals = tmp_path / "bad.zip", 0
    for number in range(60):
        data = bytearray(whole)
        if number % 3 == 0:
            del data[random_.randrange(len(data)) :]
        else:
            place = (
                random_.randrange(len(data))
                if number % 3 == 1
                else len(data) - 1 - random_.randrange(3000)
            )
            data[place] ^= 1 << random_.randrange(8)
        bad.write_bytes(data)
        there = elsewhere(tmp_path, f"home{number}")
        try:
            restore.restore(there, bad, QUIET)
        except BadBackup as error:
            refusals += "\n" not in str(error)
            assert not (there.state / "runs").exists()
            assert not (there.state / "ganboard.db").exists()
        else:
            assert files(there) == expected_files
            assert rows(there) == expected_rows
    assert refusals > 40
