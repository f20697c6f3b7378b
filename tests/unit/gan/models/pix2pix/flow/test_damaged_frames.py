"""Folders of frames that are damaged or foreign are refused in one sentence."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.pix2pix.flow.frames import Frames


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
