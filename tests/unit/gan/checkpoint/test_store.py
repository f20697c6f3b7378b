"""Checkpoints are saved whole or not at all, and the newest that is whole is loaded."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from ganboard.gan import files
from ganboard.gan.checkpoint import store
from ganboard.gan.checkpoint.reader import CheckpointError, NotFiniteError
from ganboard.gan.events import Note
from tests.recorder import Recorder
from tests.unit.gan.checkpoint.checkpoints import DIGEST, arrays, edit, flip, load, progress, save


def test_what_was_saved_comes_back_to_the_bit(tmp_path: Path) -> None:
    saved = store.save(tmp_path / "new", arrays(), progress(), digest=DIGEST, attempt=1)
    found = store.load(tmp_path / "new", arrays(), digest=DIGEST, sink=Recorder())
    assert found is not None
    for name, array in arrays().items():
        np.testing.assert_array_equal(found[0][name], array)
        assert found[0][name].dtype == array.dtype
    wanted, got = vars(progress()), vars(found[1])
    assert {k: np.asarray(v).tobytes() for k, v in got.items()} == {
        k: np.asarray(v).tobytes() for k, v in wanted.items()
    }
    path = tmp_path / "new" / "ckpt-5-1"
    assert (saved.step, saved.epoch) == (5, 2)
    assert saved.size == sum(file.stat().st_size for file in path.iterdir())
    assert saved.digest == files.measure(path / "manifest.json")[1]


def test_nothing_there_is_no_checkpoint(tmp_path: Path) -> None:
    assert load(tmp_path / "absent") is None


def test_the_newest_step_wins_and_among_equal_steps_the_newest_attempt(tmp_path: Path) -> None:
    for step, attempt, value in ((9, 1, 1), (10, 1, 2), (10, 2, 3)):
        save(tmp_path, step, attempt=attempt, value=value)
    assert load(tmp_path) is not None
    assert load(tmp_path)[0] == 3  # type: ignore[index]


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    for step in (1, 2, 3, 10):
        save(tmp_path, step, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ckpt-10-1", "ckpt-3-1"]


DAMAGES: dict[str, Callable[[Path], object]] = {
    "first bit of the state": lambda c: flip(c / "state.npz", 0),
    "bit in the middle of the state": lambda c: flip(c / "state.npz", 0.5),
    "last bit of the state": lambda c: flip(c / "state.npz", 1),
    "truncated state": lambda c: os.truncate(c / "state.npz", 100),
    "empty state": lambda c: os.truncate(c / "state.npz", 0),
    "no state": lambda c: (c / "state.npz").unlink(),
    "no manifest": lambda c: (c / "manifest.json").unlink(),
    "empty manifest": lambda c: (c / "manifest.json").write_text(""),
    "manifest of another kind": lambda c: (c / "manifest.json").write_text("[1]"),
    "binary manifest": lambda c: (c / "manifest.json").write_bytes(b"\xff\xfe"),
    "another step in the manifest": lambda c: edit(c, step=6),
    "another format": lambda c: edit(c, format=99),
    "foreign configuration": lambda c: edit(c, config_hash="0" * 64),
    "empty directory": lambda c: [file.unlink() for file in c.iterdir()],
    "manifest without versions": lambda c: edit(c, versions=None),
    "folder of another step": lambda c: (
        shutil.rmtree(c),
        shutil.copytree(c.with_name("ckpt-4-1"), c),
    ),
    "folder of another attempt": lambda c: edit(c, attempt=2),
    "a file instead of a directory": lambda c: (shutil.rmtree(c), c.write_text("")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_and_the_one_before_is_used(tmp_path: Path, damage: str) -> None:
    save(tmp_path, 4, value=4)
    DAMAGES[damage](save(tmp_path, 5, value=5))
    found = load(tmp_path)
    assert found is not None
    assert (found[0], found[1].step) == (4, 4)
    assert len(found[2]) == 1
    assert "step 5" in found[2][0]
    assert load(tmp_path)[2] == []  # type: ignore[index]  # said once: it was set aside
    assert (tmp_path / "aside-0-ckpt-5-1").exists()


def test_a_checkpoint_of_other_networks_is_refused(tmp_path: Path) -> None:
    save(tmp_path)
    others = [
        {**arrays(), "generator/dense/kernel": np.ones((30, 41), np.float32)},
        {**arrays(), "generator/dense/kernel": np.ones((30, 40), np.float64)},
        {**arrays(), "generator/dense/bias": np.ones(1, np.float32)},
        {"g_optimizer/iterations": arrays()["g_optimizer/iterations"]},
    ]
    for i, expected in enumerate(others):
        recorder = Recorder()
        copy = shutil.copytree(tmp_path / "ckpt-5-1", tmp_path / str(i) / "ckpt-5-1").parent
        assert store.load(copy, expected, digest=DIGEST, sink=recorder) is None
        assert "does not fit the networks" in recorder.of(Note)[0].text


def test_values_that_are_not_finite_are_never_saved_nor_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 4)
    with pytest.raises(NotFiniteError, match="generator/dense/kernel"):
        save(tmp_path, 5, value=float("nan"))
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-4-1"]
    with monkeypatch.context() as patch:
        patch.setattr(store, "not_finite", lambda _: iter(()))
        save(tmp_path, 6, value=float("inf"))
    assert load(tmp_path)[1].step == 4  # type: ignore[index]


def test_another_library_version_is_said(tmp_path: Path) -> None:
    edit(save(tmp_path), versions={"tensorflow": "1.0"})
    assert "tensorflow 1.0" in load(tmp_path)[2][0]  # type: ignore[index]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """A disk that refuses files above `size` bytes (EFBIG instead of ENOSPC, otherwise the same
    path)."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("size", [0, 1, 1000, 4000, 5000])
def test_a_refusing_disk_leaves_the_one_before(tmp_path: Path, size: int) -> None:
    save(tmp_path, 4)
    with largest_file(size), pytest.raises(CheckpointError, match="step 5 was not saved"):
        save(tmp_path, 5)
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-4-1"]
    assert load(tmp_path)[1].step == 4  # type: ignore[index]


def test_leftovers_of_a_killed_save_are_removed(tmp_path: Path) -> None:
    save(tmp_path, 4)
    shutil.copytree(tmp_path / "ckpt-4-1", tmp_path / "ckpt-9-1.tmp")
    assert load(tmp_path)[1].step == 4  # type: ignore[index]
    assert not (tmp_path / "ckpt-9-1.tmp").exists()


def test_everything_is_flushed_before_and_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def record_fsync(descriptor: int) -> None:
        calls.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def record_rename(path: Path, target: Path) -> Path:
        calls.append(f"{path.name} -> {target.name}")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "rename", record_rename)
    save(tmp_path / "all")
    assert calls[-5:] == [
        "state.npz",
        "manifest.json",
        "ckpt-5-1.tmp",
        "ckpt-5-1.tmp -> ckpt-5-1",
        "all",
    ]
    # the folders that lead to the first one, too
    assert calls[:2] == [tmp_path.name, tmp_path.parent.name]
    calls.clear()
    save(tmp_path / "all", 6)
    assert calls == [
        "state.npz",
        "manifest.json",
        "ckpt-6-1.tmp",
        "ckpt-6-1.tmp -> ckpt-6-1",
        "all",
    ]


def test_too_little_room_is_said_in_bytes_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 4)
    room = os.statvfs_result((4096, 4096, 1000, 3, 3, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: room)
    with pytest.raises(
        CheckpointError,
        match=(r"step 5 was not saved in .*: it needs 1,053,[0-9]{3} bytes, but only 12,288 bytes"),
    ):
        save(tmp_path, 5)
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-4-1"]
    monkeypatch.setattr(
        os, "statvfs", lambda _: os.statvfs_result((4096, 4096, 0, 0, 0, 0, 0, 0, 0, 255))
    )
    save(tmp_path, 5)  # a file system that reports no sizes


def test_a_failed_last_flush_leaves_nothing_half_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 4)

    def refuse(path: Path) -> None:
        if path == tmp_path:
            raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(files, "flush_directory", refuse)
        with pytest.raises(CheckpointError, match=r"Input/output error; check the disk\.$"):
            save(tmp_path, 5)
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-4-1"]
    save(tmp_path, 5)


def test_pruning_keeps_the_newest_and_drops_what_was_set_aside_before_them(tmp_path: Path) -> None:
    for step in (1, 2, 3, 10):
        store.save(tmp_path, arrays(), progress(step), digest=DIGEST, attempt=1)
    for name in ("aside-0-ckpt-2-1", "aside-0-ckpt-3-1", "aside-1-ckpt-11-1", "ckpt-2-1.tmp"):
        shutil.copytree(tmp_path / "ckpt-2-1", tmp_path / name)
    store.prune(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "aside-0-ckpt-3-1",
        "aside-1-ckpt-11-1",
        "ckpt-10-1",
        "ckpt-3-1",
    ]
    store.prune(tmp_path / "absent", 2)


@pytest.mark.parametrize("failures", [2, 3])
def test_a_disk_that_cannot_be_read_sets_nothing_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    save(tmp_path, 4, value=4)
    save(tmp_path, 5, value=5)
    monkeypatch.setattr(store._read.retry, "sleep", lambda _: None)  # type: ignore[attr-defined]
    real, left = files.open_plain, [failures]

    def fail_first(path: Path) -> object:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(errno.EIO, "Input/output error")
        return real(path)

    monkeypatch.setattr(files, "open_plain", fail_first)
    if failures == 2:
        assert load(tmp_path)[0] == 5  # type: ignore[index]  # the third try succeeds
        return
    with pytest.raises(CheckpointError, match=r"step 5 cannot be read .*Check the disk"):
        load(tmp_path)
    assert load(tmp_path)[0] == 5  # type: ignore[index]  # it has passed


def test_a_manifest_without_attempt_is_read(tmp_path: Path) -> None:
    manifest = save(tmp_path) / "manifest.json"
    content = json.loads(manifest.read_text())
    del content["attempt"]  # as the first ganboard wrote it
    manifest.write_text(json.dumps(content))
    assert load(tmp_path)[2] == []  # type: ignore[index]


def test_links_and_pipes_are_refused_at_once(tmp_path: Path) -> None:
    save(tmp_path, 4, value=4)
    state = save(tmp_path, 5) / "state.npz"
    state.unlink()
    os.mkfifo(state)
    assert load(tmp_path)[0] == 4  # type: ignore[index]
    (tmp_path / "ckpt-6-1").symlink_to(tmp_path / "ckpt-4-1")
    found = load(tmp_path)
    assert found is not None
    assert found[0] == 4
    assert "it is not a directory" in found[2][0]
