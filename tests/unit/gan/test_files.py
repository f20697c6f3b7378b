"""Files and folders that are there in full or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ganboard.gan import files


def test_a_file_is_replaced_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with files.whole_file(path, mode=0o600) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), files.whole_file(path):
        raise KeyboardInterrupt
    folder = tmp_path / "folder"
    with (
        pytest.raises(KeyboardInterrupt),
        files.whole_folder(folder, tmp_path / "draft"),
        files.flushed(tmp_path / "draft" / "b"),
    ):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_a_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    draft, folder = tmp_path / "draft", tmp_path / "folder"
    draft.mkdir()
    (draft / "left by a killed process").touch()
    with files.whole_folder(folder, draft), files.flushed(draft / "b") as file:
        file.write(b"new")
        assert not folder.exists()
    assert [path.name for path in folder.iterdir()] == ["b"]
    assert list(tmp_path.iterdir()) == [folder]


def test_only_what_is_durable_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(descriptor))
    with files.whole_file(tmp_path / "a", durable=False) as file:
        file.write(b"new")
    assert not synced
    with files.whole_file(tmp_path / "a"):
        pass
    assert len(synced) == 2  # the file and its folder
