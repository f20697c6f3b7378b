"""Sets of pictures: what they are made of, what they say of themselves, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ganboard.gan.data import DatasetError, images, pictures
from ganboard.gan.data.pictures import sources
from tests.unit.gan.data.pictures.files import encoded, grey, put, put_zip


def refused(data_dir: Path, path: str = "set", side: int = 32, channels: int = 3) -> str:
    with pytest.raises(DatasetError) as caught:
        pictures.load(data_dir, path, side, channels)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_colours_in_the_order_of_the_names(
    tmp_path: Path, colours: dict[str, bytes], kind: str
) -> None:
    path = "set" if kind == "folder" else "set.zip"
    (put if kind == "folder" else put_zip)(
        tmp_path / path, {**colours, ".x.png": b"", "t.txt": b""}
    )
    found = pictures.load(tmp_path, path, 64, 3)
    assert found.images.shape == (3, 64, 64, 3)
    assert found.images[:][:, 32, 32].tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
    assert (found.labels, found.classes, found.skipped, found.remarks) == (None, (), (), ())
    assert found.source.startswith(f"3 pictures from {tmp_path / path}, in colour, ")
    assert pictures.count(tmp_path, path, 64, 3) == 3
    first = found.first(2)
    assert (len(first), len(found)) == (2, 3)
    assert pictures.load(tmp_path, path, 64, 3, limit=2).images[-1][0, 0].tolist() == [0, 255, 0]
    np.testing.assert_array_equal(found.sample(2), found.images[np.array([0, 1])])


def test_grey_pictures_are_those_of_dcgan_at_its_size(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (50, 70, 4), np.uint8)
    deep = Image.fromarray(np.full((30, 30), 0x8040, np.uint16))
    put(tmp_path / "set", {"1.png": encoded(Image.fromarray(noise)), "2.png": encoded(deep)})
    of_dcgan = images.load(tmp_path, "set", None).images
    np.testing.assert_array_equal(pictures.load(tmp_path, "set", 28, 1).images[:], of_dcgan)


@pytest.mark.parametrize(
    ("image", "options", "colour"),
    [
        (Image.fromarray(np.full((30, 30), 0x8040, np.uint16)), {}, [128, 128, 128]),
        (Image.new("RGBA", (30, 30), (0, 0, 0, 0)), {}, [255, 255, 255]),
        (Image.new("RGBA", (30, 30), (255, 0, 0, 255)), {}, [255, 0, 0]),
        (Image.new("L", (30, 30), 7), {}, [7, 7, 7]),
        (Image.new("P", (30, 30), 0), {"transparency": 0}, [255, 255, 255]),
    ],
    ids=["16 bits", "transparent", "opaque", "grey", "palette"],
)
def test_every_mode_in_colour(
    tmp_path: Path, image: Image.Image, options: dict[str, int], colour: list[int]
) -> None:
    put(tmp_path / "set", {"1.png": encoded(image, **options)})
    assert pictures.load(tmp_path, "set", 28, 3).images[0][14, 14].tolist() == colour


def test_mixed_sizes_are_cropped_and_scaled_and_named(tmp_path: Path) -> None:
    wide = np.zeros((40, 120, 3), np.uint8)
    wide[:, 40:80] = 200
    put(
        tmp_path / "set",
        {"1.png": encoded(Image.fromarray(wide)), "2.png": grey(9), "3.png": grey(9)},
    )
    found = pictures.load(tmp_path, "set", 32, 3)
    assert (found.images[0] == 200).all()
    [remark] = found.remarks
    assert remark.startswith("The pictures have 2 different sizes, most often 32x32, 120x40:")


def test_sub_folders_are_classes_in_the_order_of_their_names(tmp_path: Path) -> None:
    put(tmp_path / "set", {"b/2.png": grey(2), "a/x/1.png": grey(1), "b/3.png": grey(3)})
    found = pictures.load(tmp_path, "set", 28, 1)
    assert found.classes == ("a", "b")
    assert found.labels is not None
    assert found.labels.tolist() == [0, 1, 1]
    assert found.first(2).labels.tolist() == [0, 1]  # type: ignore[union-attr]
    assert "3 pictures of 2 classes from" in found.source
    put_zip(tmp_path / "all.zip", {"all/b/2.png": grey(2), "all/a/1.png": grey(1)})
    assert pictures.load(tmp_path, "all.zip", 28, 1).classes == ("a", "b")


def test_names_that_are_no_text_stay_printable(tmp_path: Path) -> None:
    put(tmp_path / "set", {os.fsdecode(b"\xff\n/1.png"): grey(1), "b/2.png": grey(2)})
    found = pictures.load(tmp_path, "set", 28, 1)
    assert found.classes == ("b", "\ufffd\ufffd")
    assert pictures.load(tmp_path, "set", 28, 1).digest == found.digest
    put(tmp_path / "set", {os.fsdecode(b"\xff\n/2.png"): b""})
    refused(tmp_path).encode()


def test_a_table_of_labels_comes_before_sub_folders(tmp_path: Path) -> None:
    files = {"a/1.png": grey(1), "b/2.png": grey(2), "a/3.png": grey(3)}
    table = b"file,label\nb/2.png,10\na/1.png,9\na/3.png,10\n"
    put(tmp_path / "set", {**files, "labels.csv": table})
    found = pictures.load(tmp_path, "set", 28, 1)
    assert found.classes == ("9", "10")
    assert found.labels is not None
    assert found.labels.tolist() == [0, 1, 1]
    inner = {f"top/{name}": data for name, data in {**files, "labels.csv": table}.items()}
    put_zip(tmp_path / "set.zip", inner)
    assert pictures.load(tmp_path, "set.zip", 28, 1).classes == ("9", "10")
    # the table counts in what the cache was made of
    put(tmp_path / "set", {"labels.csv": table.replace(b"10", b"8")})
    assert pictures.load(tmp_path, "set", 28, 1).classes == ("8", "9")


def test_a_conditional_model_needs_two_classes(tmp_path: Path) -> None:
    put(tmp_path / "set", {"a/1.png": grey(1), "a/2.png": grey(2)})
    pictures.check(tmp_path, "set", 28, 1)
    with pytest.raises(DatasetError, match=r"has no classes, and a model conditional .* needs two"):
        pictures.check(tmp_path, "set", 28, 1, classes=True)
    put(tmp_path / "set", {"labels.csv": b"a/1.png,x\na/2.png,x\n"})
    with pytest.raises(DatasetError, match=r"has one class \(x\)"):
        pictures.check(tmp_path, "set", 28, 1, classes=True)
    put(tmp_path / "set", {"labels.csv": b"a/1.png,x\na/2.png,y\n"})
    pictures.check(tmp_path, "set", 28, 1, classes=True)


def test_unreadable_pictures_are_refused_or_left_out(tmp_path: Path) -> None:
    files = {"a/1.png": grey(1), "a/2.png": b"<html>", "b/3.png": grey(3)[:-30], "b/4.png": grey(4)}
    put(tmp_path / "set", files)
    sentence = refused(tmp_path)
    assert sentence.startswith(f"2 of 4 pictures in {tmp_path / 'set'} cannot be read. The first: ")
    assert "2.png" in sentence
    found = pictures.load(tmp_path, "set", 28, 1, skip_unreadable=True)
    assert found.images[:][:, 0, 0, 0].tolist() == [1, 4]
    assert found.labels is not None
    assert found.labels.tolist() == [0, 1]
    assert [name in why for name, why in zip(("2.png", "3.png"), found.skipped, strict=True)]
    assert pictures.count(tmp_path, "set", 28, 1) == 4
    assert pictures.count(tmp_path, "set", 28, 1, skip_unreadable=True) == 2  # by the cache
    assert pictures.count(tmp_path, "set", 32, 1, skip_unreadable=True) == 4  # by names


def test_a_set_of_nothing_but_unreadable_pictures_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "set", {"1.png": b"", "2.png": b"<html>"})
    assert refused(tmp_path).startswith("None of the 2 pictures in ")
    assert [path.suffix for path in (tmp_path / ".cache" / "pictures").iterdir()] == [".lock"]


def test_sizes_and_channels_have_limits(tmp_path: Path) -> None:
    assert refused(tmp_path, side=27) == "image_size=27 must be 28 to 256 pixels."
    assert refused(tmp_path, side=257) == "image_size=257 must be 28 to 256 pixels."
    assert refused(tmp_path, channels=4) == "channels=4 must be 1 (grey) or 3 (colour)."


def test_links_and_paths_stay_inside_the_data_directory(tmp_path: Path) -> None:
    data = tmp_path / "data"
    put(tmp_path / "outside", {"1.png": grey(1)})
    put(data / "set", {"2.png": grey(2)})
    (data / "set" / "inner").symlink_to(tmp_path / "outside")  # a linked folder is not entered
    assert pictures.count(data, "set", 28, 1) == 1
    (data / "set" / "1.png").symlink_to(tmp_path / "outside" / "1.png")
    assert "leaves the data directory" in refused(data)
    assert "must be relative to the data directory" in refused(data, "../outside")
    (data / "set" / "labels.csv").symlink_to(tmp_path / "outside" / "1.png")
    assert "leaves the data directory" in refused(data)


def test_a_hostile_zip_and_too_many_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_zip(tmp_path / "set.zip", {"../1.png": grey(1)})
    assert "refused" in refused(tmp_path, "set.zip")
    put(tmp_path / "set", {"a/1.png": grey(1), "b/2.png": grey(2)})
    monkeypatch.setattr(sources, "MAX_PICTURES", 1)
    assert "holds more than the 1 files allowed" in refused(tmp_path)
    assert "there is no such folder, .zip" in refused(tmp_path, "absent")
    put(tmp_path / "empty", {"a.txt": b""})
    assert "contains no pictures" in refused(tmp_path, "empty")


def test_progress_says_share_phase_and_seconds_left(tmp_path: Path) -> None:
    put(tmp_path / "set", {f"{i}.png": grey(i) for i in range(70)})
    heard: list[tuple[float, str, float | None]] = []
    pictures.load(tmp_path, "set", 28, 1, progress=lambda *report: heard.append(report))
    assert [phase for _, phase, _ in heard] == ["decoding"] * 3
    shares = [share for share, _, _ in heard]
    assert shares == sorted(shares)
    assert (shares[-1], heard[-1][2]) == (1, 0)
    heard.clear()
    pictures.load(tmp_path, "set", 28, 1, progress=lambda *report: heard.append(report))
    assert heard == [(0, "verifying the cache", None)]
