"""Frame pairs: written whole or not at all, and read back by index."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ganboard.gan import files
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.pix2pix.flow import vortex_street
from ganboard.gan.models.pix2pix.flow.frames import Frames, write
from ganboard.gan.models.pix2pix.flow.lattice import Flow
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording
from tests.unit.gan.models.pix2pix.flow.recordings import GRID, RECORDING


def test_pairs_are_what_the_solver_computes(folder: Path) -> None:
    frames = Frames(folder)
    pairs = frames.pairs("train", lag=2)
    assert len(pairs) == 4
    flow = Flow(Obstacle("circle", 4), 50, GRID)
    flow.step(30 + 8)
    now = vortex_street.channels(flow.velocity(), flow.solid, 4, 0.1)
    flow.step(16)
    then = vortex_street.channels(flow.velocity(), flow.solid, 4, 0.1)
    given, wanted = pairs[1]
    assert given.shape == (24, 60, 4)
    assert wanted.shape == (24, 60, 3)
    assert given.dtype == wanted.dtype == np.float32
    np.testing.assert_allclose(given, now, atol=6e-4)  # float16
    np.testing.assert_allclose(wanted, then[..., :3], atol=6e-4)
    assert np.array_equal(given[..., 3], flow.solid)


def test_splits_do_not_mix(folder: Path) -> None:
    frames = Frames(folder)
    held = frames.pairs("held-out")
    assert [frames.pairs("train").where(i) for i in (0, 4)] == [(0, 0), (0, 4)]
    assert len(held) == 10
    assert [held.where(i) for i in (0, 4, 5, 9)] == [(1, 0), (1, 4), (2, 0), (2, 4)]
    inputs, targets = held.batch([0, 7])
    assert inputs.shape == (2, 24, 60, 4)
    assert np.array_equal(targets[1], frames.frame(2, 3))
    for index in (-1, 10):
        with pytest.raises(IndexError, match="There is no pair"):
            held[index]


def test_the_manifest_records_the_recipe_and_the_measured_flows(folder: Path) -> None:
    manifest = Frames(folder).manifest
    assert (manifest.grid, manifest.frames, manifest.discard, manifest.every, manifest.seed) == (
        GRID,
        6,
        30,
        8,
        3,
    )
    assert [stored.obstacle.name for stored in manifest.sequences] == [
        "circle",
        "circle",
        "rectangle:2",
    ]
    assert [stored.split for stored in manifest.sequences] == ["train", "held-out", "held-out"]
    assert manifest.sequences[0].tau == pytest.approx(3 * 0.1 * 4 / 50 + 0.5)
    assert manifest.sequences[0].strouhal is None  # 70 steps are no street
    assert json.loads((folder / "manifest.json").read_text())["digest"] == manifest.digest


def test_a_long_enough_sequence_has_its_strouhal_number(tmp_path: Path) -> None:
    recording = Recording(
        (Case(Obstacle("circle", 6), 80),), (96, 48), frames=3, discard=4500, every=20
    )
    (stored,) = write(tmp_path / "one", recording).sequences
    assert stored.strouhal == pytest.approx(0.163, abs=0.02)


def test_equal_recipes_give_equal_digests_and_plain_npy_files(folder: Path, tmp_path: Path) -> None:
    again = write(tmp_path / "again", RECORDING)
    assert again.digest == Frames(folder).manifest.digest
    loaded = np.load(folder / "001.npy", mmap_mode="r", allow_pickle=False)
    assert loaded.shape == (6, 24, 60, 3)
    assert loaded.dtype == np.float16
    assert write(tmp_path / "other", replace(RECORDING, every=9)).digest != again.digest


def test_progress_counts_solver_steps(tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    write(tmp_path / "streets", RECORDING, lambda done, total: progress.append((done, total)))
    assert progress[-1] == (210, 210)
    assert {total for _, total in progress} == {210}
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    verified: list[tuple[int, int]] = []
    Frames(tmp_path / "streets").verify(lambda done, total: verified.append((done, total)))
    assert verified == [(1, 3), (2, 3), (3, 3)]


def test_frames_are_not_read_before_they_are_asked_for(folder: Path) -> None:
    frames = Frames(folder)
    assert all(isinstance(found, np.memmap) for found in frames._maps)
    assert not any(found.flags.writeable for found in frames._maps)


def test_none_of_it_needs_tensorflow() -> None:
    code = (
        "import sys, ganboard.gan.models.pix2pix.flow.frames,"
        " ganboard.gan.models.pix2pix.prediction.tiles, ganboard.worker.models.pix2pix.flow;"
        " print({'tensorflow', 'keras'} & {*sys.modules})"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "set()\n"
    )


@pytest.mark.parametrize("lag", [0, 6, -1])
def test_a_lag_without_pairs_is_refused(folder: Path, lag: int) -> None:
    with pytest.raises(
        DatasetError, match=f"lag={lag} is not from 1 to 5 for sequences of 6 frames"
    ):
        Frames(folder).pairs("train", lag)


def test_a_split_without_sequences_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "streets", replace(RECORDING, cases=RECORDING.cases[:1]))
    with pytest.raises(DatasetError, match="has no held-out sequence"):
        Frames(tmp_path / "streets").pairs("held-out")


# --- writing ---


def test_what_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done > 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "streets", RECORDING, stop)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "flush", full)
    with pytest.raises(
        DatasetError,
        match=(
            r"streets was not written \(No space left on device\): free some space, or ask"
            r" for fewer"
        ),
    ):
        write(tmp_path / "streets", RECORDING)
    assert list(tmp_path.iterdir()) == []


def test_room_is_looked_for_before_any_work(tmp_path: Path) -> None:
    huge = replace(RECORDING, cases=RECORDING.cases * 300, frames=100_000, grid=(2048, 2048))
    with pytest.raises(
        DatasetError, match=r"The frames need [\d,]+ MB and .* MB free: free some space"
    ):
        write(tmp_path / "streets", huge)


@pytest.mark.parametrize("occupied", ["file", "folder", "link"])
def test_what_is_there_is_not_overwritten(tmp_path: Path, occupied: str) -> None:
    path = tmp_path / "streets"
    {"file": path.touch, "folder": path.mkdir, "link": lambda: path.symlink_to(tmp_path)}[
        occupied
    ]()
    with pytest.raises(
        DatasetError, match=r"already exists\. Name another folder, or delete that one first"
    ):
        write(path, RECORDING)
    assert len(list(tmp_path.iterdir())) == 1
