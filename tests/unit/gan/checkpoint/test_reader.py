"""Checkpoints found and verified without loading their weights."""

from __future__ import annotations

from pathlib import Path

from ganboard.gan.checkpoint import reader, store
from ganboard.gan.events import Found
from tests.unit.gan.checkpoint.checkpoints import DIGEST, arrays, edit, flip, progress, save


def test_what_is_found_is_what_was_saved(tmp_path: Path) -> None:
    saved = store.save(tmp_path, arrays(), progress(5), digest=DIGEST, attempt=3)
    save(tmp_path, 6)
    (tmp_path / "ckpt-6-1" / "manifest.json").write_text("[]")
    assert reader.found(tmp_path) == (Found(saved.step, 3, saved.epoch, saved.digest, saved.size),)
    assert reader.found(tmp_path / "nowhere") == ()


def test_verifying_lists_what_does_not_load_and_changes_nothing(tmp_path: Path) -> None:
    listed = [
        (step, 1, store.save(tmp_path, arrays(), progress(step), digest=DIGEST, attempt=1).digest)
        for step in (1, 2, 3, 4)
    ]
    assert reader.verify(tmp_path, listed) == {}
    flip(tmp_path / "ckpt-1-1" / "state.npz", 0.5)
    edit(tmp_path / "ckpt-2-1", epoch=9)
    (tmp_path / "ckpt-4-1").rename(tmp_path / "elsewhere")
    before = sorted(tmp_path.rglob("*"))
    bad = reader.verify(tmp_path, listed)
    assert {step: words.split(":")[0] for (step, _), words in bad.items()} == {
        1: "CheckpointError",
        2: "manifest.json is not the one that was listed",
        4: "FileNotFoundError",
    }
    assert sorted(tmp_path.rglob("*")) == before
