"""A version's folder: whole or not there, and nothing in it is believed that was not registered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.gan.generation import package
from ganboard.gan.generation.package import MANIFEST, WEIGHTS, Manifest, VersionError

FOREIGN = "manifest.json is not the one that was registered"
ARRAYS = {
    "g/kernel": np.arange(6, dtype=np.int8).reshape(2, 3),
    "g/kernel/scale": np.float32([[0.5, 1, 2]]),
}


def manifest(**values: Any) -> Manifest:
    own = {
        "id": "abc", "name": "digits", "variant": "int8", "parent_id": "abd", "config": {"seed": 1},
        "signature": {"inputs": {}}, "run_id": "abcdefghjk", "attempt": 1, "epoch": 3, "step": 12,
        "checkpoint": "0" * 64, "data": None, "versions": {"keras": "3"}, "commit": None,
        "quality": {"fid": 1.5},
    }  # fmt: skip
    return Manifest.model_validate({**own, **values})


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    digest, size = package.write(tmp_path / "models" / "abc", manifest(), ARRAYS)
    found, arrays = package.read(tmp_path / "models" / "abc", digest)
    assert found.model_copy(update={"files": {}}) == manifest()
    assert {name: array.tolist() for name, array in arrays.items()} == {
        name: array.tolist() for name, array in ARRAYS.items()
    }
    assert size == sum(file.stat().st_size for file in (tmp_path / "models" / "abc").iterdir())
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["abc"]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        (WEIGHTS, lambda path: path.write_bytes(path.read_bytes()[:-1]), "weights.npz is damaged"),
        (
            WEIGHTS,
            lambda path: path.write_bytes(path.read_bytes().replace(b"\x05", b"\x06")),
            "weights.npz is damaged",
        ),
        (WEIGHTS, Path.unlink, "No such file"),
        (
            MANIFEST,
            lambda path: path.write_text(path.read_text().replace("digits", "others")),
            FOREIGN,
        ),
        (MANIFEST, lambda path: path.write_text("{"), FOREIGN),
        (MANIFEST, Path.unlink, "No such file"),
    ],
)  # fmt: skip
def test_what_is_damaged_or_foreign_is_refused(
    tmp_path: Path, name: str, change: Any, words: str
) -> None:
    digest, _ = package.write(tmp_path / "abc", manifest(), ARRAYS)
    change(tmp_path / "abc" / name)
    with pytest.raises(
        VersionError,
        match=(
            rf"^The version in .*abc cannot be used \({words}.*\)\. Remove it, and add it again"
            r" from its run\.$"
        ),
    ):
        package.read(tmp_path / "abc", digest)


def test_a_link_in_the_place_of_the_weights_is_refused(tmp_path: Path) -> None:
    digest, _ = package.write(tmp_path / "abc", manifest(), ARRAYS)
    (tmp_path / "abc" / WEIGHTS).rename(tmp_path / "elsewhere")
    (tmp_path / "abc" / WEIGHTS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VersionError, match="cannot be used"):
        package.read(tmp_path / "abc", digest)


def test_the_format_of_another_ganboard_is_refused(tmp_path: Path) -> None:
    import hashlib

    package.write(tmp_path / "abc", manifest(), ARRAYS)
    path = tmp_path / "abc" / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    with pytest.raises(VersionError, match="it was written by another version of ganboard"):
        package.read(tmp_path / "abc", hashlib.sha256(path.read_bytes()).hexdigest())


def test_a_disk_that_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(
        VersionError,
        match=r"^The version could not be written to .* \(Not a directory\)\. Check the disk\.$",
    ):
        package.write(tmp_path / "models" / "abc", manifest(), ARRAYS)
