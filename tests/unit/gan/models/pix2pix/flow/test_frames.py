"""Frame pairs: written whole or not at all, read back by index, damage refused."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.gan import files
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.pix2pix.flow import vortex_street
from ganboard.gan.models.pix2pix.flow.frames import Frames, write
from ganboard.gan.models.pix2pix.flow.lattice import Flow
from ganboard.gan.models.pix2pix.flow.obstacle import FlowError, Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording, plan

GRID = (60, 24)
RECORDING = Recording(
    (
        Case(Obstacle("circle", 4), 50),
        Case(Obstacle("circle", 4), 40, held_out=True),
        Case(Obstacle("rectangle", 4, 2), 50, held_out=True, bump=-0.05),
    ),
    GRID,
    frames=6,
    discard=30,
    every=8,
    seed=3,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "streets", RECORDING)
    return tmp_path / "streets"


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
        " ganboard.gan.models.pix2pix.prediction.tiles, ganboard.worker.cli.flow;"
        " print({'tensorflow', 'keras'} & {*sys.modules})"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "set()\n"
    )


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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"frames": 1}, "frames=1 lies outside the limits of 2 and 100,000"),
        ({"every": 0}, "every=0 lies outside the limits of 1 and 10,000"),
        ({"discard": -5}, "discard=-5 lies outside the limits of 1"),
        ({"seed": -1}, "seed=-1 lies outside the limits of 0"),
        ({"cases": RECORDING.cases * 334}, "1,002 flows exceed the limit of 1,000: name fewer"),
        ({"cases": ()}, "0 flows are left to train with, at least 1 is needed"),
        ({"cases": RECORDING.cases[1:]}, "0 flows are left to train with"),
        ({"cases": (Case(Obstacle("circle", 4), 300),)}, "Reynolds number 300 needs tau"),
        ({"speed": 0.3}, "An inlet speed of 0.3"),
    ],
)
def test_a_recipe_that_cannot_be_computed_is_refused_before_any_work(
    tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(FlowError, match=re.escape(sentence)):
        write(tmp_path / "streets", replace(RECORDING, **change))
    assert list(tmp_path.iterdir()) == []


# --- plans ---


def test_a_plan_adds_what_is_held_out() -> None:
    cases = plan([80, 100], ["circle", "square"], ["90", "rectangle:2"], diameter=9)
    assert len(cases) == 9
    train = {(case.obstacle.name, case.reynolds) for case in cases if not case.held_out}
    assert train == {("circle", 80), ("circle", 100), ("square", 80), ("square", 100)}
    assert {case.obstacle.diameter for case in cases} == {9}
    assert all(
        case.held_out
        for case in cases
        if case.reynolds == 90 or case.obstacle.name == "rectangle:2"
    )


def test_a_seed_moves_the_obstacles_a_little() -> None:
    one, again, other = (plan([80, 100, 120], ["circle"], seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    places = {(case.obstacle.x, case.obstacle.y) for case in one}
    assert len(places) == 3
    assert all(abs(x - 0.2) <= 0.04 and abs(y - 0.5) <= 0.1 for x, y in places)
    assert {case.bump for seed in range(9) for case in plan([80], ["circle"], seed=seed)} == {
        -0.05,
        0.05,
    }


# --- damage ---


def change_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def spoil(folder: Path, offset: int, data: bytes) -> None:
    with (folder / "000.npy").open("r+b") as file:
        file.seek(offset)
        file.write(data)


def swap_for_link(folder: Path) -> None:
    (folder / "000.npy").rename(folder / "elsewhere.npy")
    (folder / "000.npy").symlink_to("elsewhere.npy")


def pickled(folder: Path) -> None:
    np.save(folder / "000.npy", np.array([{}], object), allow_pickle=True)


def fifo(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda f: (f / "manifest.json").unlink(), "manifest.json cannot be read ([Errno 2]"),
        (
            lambda f: (f / "manifest.json").write_text("[1"),
            "manifest.json cannot be read (Expecting",
        ),
        (
            lambda f: (f / "manifest.json").write_text("[]"),
            "it is no manifest of format ganboard-flow-1",
        ),
        (
            lambda f: (f / "manifest.json").write_text('{"format": "flow"}'),
            "it is no manifest of format ganboard-flow-1",
        ),
        (
            lambda f: (f / "manifest.json").write_bytes(b" " * (5 << 20)),
            "it exceeds the limit of 4,194,304 bytes",
        ),
        (fifo, "manifest.json is not a file"),
        (lambda f: change_manifest(f, frames=7), "its digest does not match: it was changed"),
        (lambda f: change_manifest(f, seed=4), "its digest does not match: it was changed"),
        (
            lambda f: change_manifest(f, grid=[1 << 40, 24]),
            "grid.0: Input should be less than or equal to 1048576",
        ),
        (
            lambda f: change_manifest(f, speed=float("nan")),
            "speed: Input should be a finite number",
        ),
        (
            lambda f: change_manifest(f, sequences=[]),
            "sequences: Tuple should have at least 1 item",
        ),
        (lambda f: change_manifest(f, extra=1), "extra: Extra inputs are not permitted"),
        (lambda f: (f / "000.npy").unlink(), "000.npy cannot be read ([Errno 2]"),
        (
            lambda f: os.truncate(f / "000.npy", 1000),
            "it has 1,000 bytes, (6, 24, 60, 3) frames of <f2 have 51,968",
        ),
        (pickled, "frames of <f2 have 51,968"),
        (
            lambda f: spoil(f, 0, b"PICKLE"),
            "its header does not declare (6, 24, 60, 3) frames of <f2",
        ),
        (lambda f: spoil(f, 60, b"9"), "its header does not declare"),
        (swap_for_link, "000.npy cannot be read ("),
    ],
)
def test_damaged_and_foreign_folders_are_refused_in_one_sentence(
    folder: Path, damage: Callable[[Path], Any], sentence: str
) -> None:
    damage(folder)
    with pytest.raises(DatasetError) as caught:
        Frames(folder)
    said = str(caught.value)
    assert sentence in said
    assert said.endswith(
        "copy the folder again from its origin, or create it again with `ganboard data flow`."
    )
    assert "\n" not in said


def test_a_manifest_of_a_flow_that_cannot_be_is_refused_even_with_its_digest(folder: Path) -> None:
    manifest = Frames(folder).manifest
    forged = manifest.model_copy(
        update={"sequences": (manifest.sequences[0].model_copy(update={"reynolds": 9e9}),)}
    )
    (folder / "manifest.json").write_bytes(forged.encode())
    with pytest.raises(DatasetError, match="Reynolds number 9e\\+09 needs tau"):
        Frames(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, 100])
def test_a_frame_with_impossible_values_is_refused_when_it_is_asked_for(
    folder: Path, value: float
) -> None:
    spoil(folder, 128 + 2 * 24 * 60 * 3 * 2 + 100, np.float16(value).tobytes())  # in frame 2
    frames = Frames(folder)
    frames.frame(0, 1)
    with pytest.raises(
        DatasetError,
        match=(
            r"000\.npy: frame 2 holds values that are not finite or exceed the limit of 4: copy the"
            r" folder"
        ),
    ):
        frames.pairs("train")[1]


def test_verify_finds_a_flipped_bit(folder: Path) -> None:
    frames = Frames(folder)
    frames.verify()
    spoil(folder, 128 + 1001, b"\x01")
    with pytest.raises(DatasetError, match="its digest does not match: it was changed"):
        Frames(folder).verify()


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
