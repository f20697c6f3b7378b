"""The cache of decoded pictures: shared, verified, whole or not there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import namedtuple
from pathlib import Path

import pytest

from ganboard.gan.data import DatasetError, pictures
from ganboard.gan.data.pictures import cache, unused
from ganboard.gan.data.pictures.cache import FOLDER
from tests.unit.gan.data.pictures.files import grey, put, put_zip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    put(tmp_path / "set", {"a/1.png": grey(1), "b/2.png": grey(2), "b/3.png": grey(3)})
    return tmp_path


def load(data: Path, path: str = "set", **options: object) -> pictures.Pictures:
    return pictures.load(data, path, 28, 1, **options)  # type: ignore[arg-type]


def folders(data: Path) -> list[Path]:
    return sorted(path for path in (data / FOLDER).iterdir() if path.is_dir())


def levels(found: pictures.Pictures) -> list[int]:
    return found.images[:][:, 0, 0, 0].tolist()


def test_made_once_for_the_same_pictures(data: Path) -> None:
    first = load(data)
    [folder] = folders(data)
    before = {path: path.stat().st_ino for path in folder.iterdir()}
    second = load(data)
    assert {path: path.stat().st_ino for path in folder.iterdir()} == before
    assert (levels(second), second.digest) == (levels(first), first.digest)
    shutil.copytree(data / "set", data / "copy")  # with its times
    assert load(data, "copy").digest == first.digest
    assert len(folders(data)) == 1
    pictures.load(data, "set", 32, 1)
    pictures.load(data, "set", 28, 3)
    assert len(folders(data)) == 3


def test_changed_pictures_get_another_cache(data: Path) -> None:
    load(data)
    file = data / "set" / "b" / "3.png"
    put(data / "set", {"b/3.png": grey(9)})
    os.utime(file, ns=(0, 0))
    assert levels(load(data)) == [1, 2, 9]
    file.rename(file.with_name("4.png"))
    load(data)
    assert len(folders(data)) == 3
    put_zip(data / "set.zip", {"1.png": grey(1)})
    load(data, "set.zip")
    put_zip(data / "set.zip", {"1.png": grey(2)})
    assert levels(load(data, "set.zip")) == [2]


@pytest.mark.parametrize("name", ["images.npy", "labels.npy", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_a_damaged_cache_is_made_again(data: Path, name: str, damage: str) -> None:
    digest = load(data).digest
    [folder] = folders(data)
    file = folder / name
    content = bytearray(file.read_bytes())
    if damage == "gone":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(content[:-1])
    else:
        content[len(content) // 2] ^= 255
        file.write_bytes(content)
    found = load(data)
    assert (levels(found), found.digest) == ([1, 2, 3], digest)
    assert found.labels is not None
    assert found.labels.tolist() == [0, 1, 1]
    again = [remark for remark in found.remarks if "cannot be used and is made again" in remark]
    assert len(again) == 1
    assert load(data).remarks == ()


def test_of_two_builders_one_makes_and_the_other_waits(data: Path) -> None:
    inside, go = threading.Event(), threading.Event()
    heard: list[str] = []
    found = {}

    def slow(share: float, phase: str, left: float | None) -> None:
        inside.set()
        go.wait(20)

    def patient(share: float, phase: str, left: float | None) -> None:
        heard.append(phase)
        go.set()

    first = threading.Thread(target=lambda: found.update(first=load(data, progress=slow)))
    first.start()
    assert inside.wait(20)
    second = load(data, progress=patient)
    first.join()
    assert heard[0] == "waiting for another run that makes the same cache"
    assert "decoding" not in heard
    assert levels(second) == levels(found["first"])


def test_what_progress_raises_ends_it_and_nothing_is_left(data: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(share: float, phase: str, left: float | None) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        load(data, progress=stop)
    assert folders(data) == []
    assert levels(load(data)) == [1, 2, 3]


def test_a_disk_without_room_is_refused_before(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda path: usage(0, 0, 1000))
    with pytest.raises(DatasetError) as caught:
        load(data)
    needed = 3 * 28 * 28 + (1 << 20)
    assert str(caught.value) == (
        f"The cache of decoded pictures needs {needed:,} bytes in {data / FOLDER}, where 1,000 are"
        " free: free some, delete unused caches with `ganboard doctor --fix`, or choose a smaller"
        " image_size."
    )
    assert folders(data) == []


def test_a_disk_that_fills_up_meanwhile_leaves_nothing(data: Path) -> None:
    """A limit on the size of a file stands in for a full disk: writing fails at the same place."""
    put(data / "large", {f"{i}.png": grey(i) for i in range(64)})
    script = """
import resource, signal, sys
from pathlib import Path
from ganboard.gan.data import DatasetError, pictures
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    pictures.load(Path(sys.argv[1]), "large", 64, 3)
except DatasetError as error:
    print(error)
"""
    command = [sys.executable, "-c", script, str(data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("The cache of decoded pictures needs "), done.stderr
    assert folders(data) == []


def test_a_killed_builder_leaves_nothing_in_the_way(data: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from ganboard.gan.data import pictures
pictures.load(
    Path(sys.argv[1]), "set", 28, 1, progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL)
)
"""
    command = [sys.executable, "-c", script, str(data)]
    assert subprocess.run(command, timeout=60).returncode == -signal.SIGKILL
    [draft] = folders(data)
    assert draft.suffix == cache.TEMPORARY
    assert levels(load(data)) == [1, 2, 3]
    assert draft not in folders(data)


def test_a_folder_that_cannot_be_written_is_named(data: Path) -> None:
    (data / ".cache").write_bytes(b"")
    with pytest.raises(DatasetError, match=r"cannot be written to .*grant write permission"):
        load(data)


def test_unused_and_incomplete_caches_are_freed(data: Path) -> None:
    found = load(data)
    pictures.load(data, "set", 32, 1)
    old, new = folders(data)
    os.utime(old / cache.MANIFEST, (0, time.time() - 31 * 86_400))
    (data / FOLDER / "x-28x28x1.tmp").mkdir()
    (data / FOLDER / "other").mkdir()
    listed = unused.kept(data / FOLDER)
    assert [one.path.name for one in listed] == [old.name, new.name, "x-28x28x1.tmp"]
    assert [one.unused for one in listed] == [True, False, True]
    assert [unused.free(one) for one in listed if one.unused] == [True, True]
    assert [path.name for path in folders(data)] == sorted([new.name, "other"])
    assert levels(found) in ([1, 2, 3],)  # what is open stays readable
    load(data)


def test_a_cache_that_is_being_made_is_not_freed(data: Path) -> None:
    load(data)
    [listed] = unused.kept(data / FOLDER)
    with cache.FileLock(listed.path.with_name(f"{listed.path.name}.lock")):
        assert not unused.free(listed)
    assert listed.path.exists()
