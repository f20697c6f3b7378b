"""MNIST and Fashion-MNIST: from an npz or idx files in the data directory, or downloaded there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ganboard.gan.data import download, idx, npz
from ganboard.gan.data.dataset import SIDE, Dataset, DatasetError, Images, Labels

COUNT = 60_000
_IMAGES = "train-images-idx3-ubyte"
_LABELS = "train-labels-idx1-ubyte"


@dataclass(frozen=True)
class Origin:
    """What Keras downloads for a data set."""

    title: str
    size: str
    files: dict[str, str | None]  # name on the server -> sha256, where Keras states one
    folder: str  # of those files, within the data directory


ORIGINS = {
    "mnist": Origin(
        "MNIST handwritten digits",
        "11 MB",
        {"mnist.npz": "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"},
        "",
    ),
    # The images come last: where they are, the labels are.
    "fashion_mnist": Origin(
        "Fashion-MNIST articles of clothing",
        "26 MB",
        {f"{_LABELS}.gz": None, f"{_IMAGES}.gz": None},
        "fashion_mnist",
    ),
}


def load(name: str, data_dir: Path, limit: int | None) -> Dataset:
    """The first `limit` training images of `name`; raises DatasetError."""
    path = find(name, data_dir)
    if path is None:
        require_download(name, data_dir)
        origin = ORIGINS[name]
        for file, sha256 in origin.files.items():
            download.fetch(file, data_dir / origin.folder / file, sha256)
        path = find(name, data_dir)
        assert path is not None
    images, labels = _read(path)
    source = f"{ORIGINS[name].title}: {len(images):,} training images read from {path}."
    return Dataset(images[:limit], labels[:limit], source)


def find(name: str, data_dir: Path) -> Path | None:
    """The file that holds the images of `name`, or None."""
    return next((path for path in places(name, data_dir) if path.is_file()), None)


def places(name: str, data_dir: Path) -> list[Path]:
    """Where `name` is looked for, in this order."""
    folders = [data_dir / name, *([data_dir] if name == "mnist" else [])]
    return [
        data_dir / f"{name}.npz",
        *(folder / f"{_IMAGES}{suffix}" for folder in folders for suffix in ("", ".gz")),
    ]


def count(path: Path) -> int:
    """Images in the file that `find` returned, from its header; raises DatasetError."""
    return _checked(
        path, npz.shape(path, "x_train") if path.suffix == ".npz" else idx.shape(path, 3)
    )


def require_download(name: str, data_dir: Path) -> None:
    """Raises DatasetError when `name`, absent from `data_dir`, cannot be downloaded either."""
    obstacle = download.obstacle(data_dir)
    if obstacle:
        looked = ", ".join(str(path) for path in places(name, data_dir))
        raise DatasetError(
            f"{name} is not on this machine (looked for {looked}) and {obstacle}: copy {name}.npz"
            f" into {data_dir}, set GANBOARD_DATA_DIR to a folder that holds it, or choose"
            " dataset=digits, which is always available."
        )


def _read(path: Path) -> tuple[Images, Labels]:
    count(path)
    if path.suffix == ".npz":
        images, labels = npz.read(path, "x_train"), npz.read(path, "y_train")
    else:
        images, labels = idx.read(path, 3), idx.read(_labels_beside(path), 1)
    if images.dtype != np.uint8:
        raise DatasetError(
            f"{path} holds {images.dtype} images: save them as uint8 with grey levels 0 to 255."
        )
    if labels.shape != (len(images),):
        raise DatasetError(
            f"{path} holds {len(images):,} images and labels of shape {labels.shape}: copy both"
            " again from one origin."
        )
    return images.reshape(-1, SIDE, SIDE, 1), labels.astype(np.int64)


def _labels_beside(path: Path) -> Path:
    beside = [path.with_name(_LABELS + suffix) for suffix in (path.suffix, "", ".gz")]
    found = next((labels for labels in beside if labels.is_file()), None)
    if found is None:
        raise DatasetError(
            f"{path} exists without its labels. Copy {_LABELS} or {_LABELS}.gz beside it."
        )
    return found


def _checked(path: Path, shape: tuple[int, ...]) -> int:
    if shape[1:] not in ((SIDE, SIDE), (SIDE, SIDE, 1)):
        raise DatasetError(
            f"{path} holds images of shape {shape}: they must be [N, {SIDE}, {SIDE}]; use"
            " dataset=images for other sizes."
        )
    if not shape[0]:
        raise DatasetError(f"{path} holds no images: copy it again from its origin.")
    return shape[0]
