from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.quality.cache import Arrays, kept
from tests.polling import wait_until


class Maker:
    """Makes the same arrays each time, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Arrays:
        self.calls += 1
        return {
            "a": np.arange(6, dtype=np.float32).reshape(2, 3),
            "b": np.float64(1 / 3).reshape(()),
        }


def same(a: Arrays, b: Arrays) -> bool:
    return {k: (v.dtype, v.shape, v.tobytes()) for k, v in a.items()} == {
        k: (v.dtype, v.shape, v.tobytes()) for k, v in b.items()
    }


def test_what_was_made_is_kept_to_the_bit(tmp_path: Path) -> None:
    path, make = tmp_path / "new" / "folder" / "a.npz", Maker()
    first, remarks = kept(path, make)
    again, more = kept(path, make)
    assert make.calls == 1
    assert same(first, again)
    assert remarks == more == []
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.lock", "a.npz"]


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "another digest", "no digest"])
def test_a_damaged_file_is_made_again_with_a_sentence(damage: str, tmp_path: Path) -> None:
    path, make = tmp_path / "a.npz", Maker()
    good, _ = kept(path, make)
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("not an archive")
    else:
        np.savez(
            path,
            **{**good, "a": good["a"] + 1},
            **({"digest": np.array("0" * 64)} if damage == "another digest" else {}),
        )
    arrays, remarks = kept(path, make)
    assert make.calls == 2
    assert same(arrays, good)
    assert len(remarks) == 1
    assert remarks[0].startswith(f"{path} cannot be used and is recreated (")
    assert kept(path, make)[1] == []
    assert make.calls == 2


def test_no_flipped_bit_is_ever_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    good, _ = kept(path, Maker())
    content = path.read_bytes()
    made = 0
    for i in range(0, len(content), 3):
        path.write_bytes(content[:i] + bytes([content[i] ^ 1 << i % 8]) + content[i + 1 :])
        make = Maker()
        assert same(kept(path, make)[0], good)
        made += make.calls
    # the rest lies in the padding and time stamps of the archive
    assert made > len(content) / 3 / 3


def test_pickled_objects_are_not_loaded(tmp_path: Path) -> None:
    path, make = tmp_path / "a.npz", Maker()
    np.savez(path, a=np.array([object()], dtype=object))
    arrays, remarks = kept(path, make)
    assert make.calls == 1
    assert "cannot be used" in remarks[0]
    assert same(arrays, Maker()())


def test_a_place_that_cannot_be_written_costs_the_keeping_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    make = Maker()
    arrays, remarks = kept(tmp_path / "file" / "a.npz", make)
    assert same(arrays, Maker()())
    assert len(remarks) == 1
    assert "could not be written (Not a directory), so every run recreates it" in remarks[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_for_reading_only_serves_what_it_holds(tmp_path: Path) -> None:
    path, make = tmp_path / "a.npz", Maker()
    kept(path, make)
    (tmp_path / "a.lock").unlink()
    tmp_path.chmod(0o500)
    try:
        assert kept(path, make)[1] == []
        assert make.calls == 1
    finally:
        tmp_path.chmod(0o700)


def test_what_make_raises_passes_and_leaves_nothing(tmp_path: Path) -> None:
    def stopped() -> Arrays:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "a.npz", stopped)
    assert [p.name for p in tmp_path.iterdir()] == ["a.lock"]
    assert kept(tmp_path / "a.npz", Maker())[1] == []


PROCESS = """
import pathlib, sys
import numpy as np
from ganboard.gan.quality.cache import kept
from tests.polling import wait_until

folder, name, wanted = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def make():
    (folder / f"made-{name}").touch()
    wait_until(lambda: len(list(folder.glob("asked-*"))) >= wanted, seconds=60)
    return {"a": np.frombuffer(name.encode(), np.uint8)}

(folder / f"asked-{name}").touch()
print(bytes(kept(folder / "a.npz", make)[0]["a"]).decode())
"""


def start(folder: Path, name: str, wanted: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(folder), name, str(wanted)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_of_processes_at_once_one_makes_and_all_have_the_same(tmp_path: Path) -> None:
    processes = [start(tmp_path, f"{i}", 3) for i in range(3)]
    answers = {process.communicate(timeout=120)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    (made,) = tmp_path.glob("made-*")
    assert answers == {made.name.removeprefix("made-") + "\n"}


def test_a_killed_maker_holds_up_nobody(tmp_path: Path) -> None:
    with start(tmp_path, "killed", 9) as process:
        wait_until((tmp_path / "made-killed").exists, seconds=60, what="the other process to make")
        process.send_signal(signal.SIGKILL)
        make = Maker()
        assert same(kept(tmp_path / "a.npz", make)[0], Maker()())
    assert make.calls == 1
