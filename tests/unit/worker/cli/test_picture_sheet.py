"""`ganboard data show`: a sheet of pictures, and what is in the folder."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from tests.cli import document, ganboard, refused
from tests.unit.gan.data.pictures.files import grey, put


def test_a_folder_is_described_and_drawn(tmp_path: Path) -> None:
    put(tmp_path / "set", {"a/1.png": grey(1), "b/2.png": grey(2), "b/3.png": b""})
    sheet = tmp_path / "sheet.png"
    folder = str(tmp_path / "set")
    said = ganboard("data", "show", folder, "--image-size", "32", "--out", str(sheet)).stdout
    assert "3 pictures in set, which a network sees in colour, 32x32 pixels." in said
    assert "2 classes: a 1, b 2." in said
    assert "1 of 3 cannot be read." in said
    assert f"{sheet} shows 2 of them." in said
    assert Image.open(io.BytesIO(sheet.read_bytes())).size == (66, 32)
    found = document("data", "show", folder, "--channels", "1")
    assert (found["pictures"], found["classes"]) == (3, {"a": 1, "b": 2})
    assert (found["sizes"], len(found["unreadable"])) == ({"32x32": 2}, 1)
    assert (found["sheet"], found["channels"], found["image_size"]) == (None, 1, 64)
    # nothing but the sheet is written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set", "sheet.png"]


def test_what_cannot_be_shown_is_one_sentence(tmp_path: Path) -> None:
    assert "there is no such folder" in refused("data", "show", str(tmp_path / "absent"))
    put(tmp_path / "set", {"1.png": grey(1)})
    folder = str(tmp_path / "set")
    assert "image_size=999 must be 28 to 256" in refused(
        "data", "show", folder, "--image-size", "999"
    )
    assert "channels=2 must be 1" in refused("data", "show", folder, "--channels", "2")
    out = str(tmp_path / "absent" / "sheet.png")
    assert "cannot be written" in refused("data", "show", folder, "--out", out)
