"""Pictures to read: encoded, put into folders and zips, and refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ganboard.gan.config import RunConfig
from ganboard.gan.data import DatasetError, load
from ganboard.gan.models.dcgan.config import Config


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def grey(level: int, size: tuple[int, int] = (32, 32)) -> bytes:
    return encoded(Image.new("L", size, level))


def config(path: str = "set", **changes: Any) -> RunConfig:
    return Config(dataset="images", images_path=path, batch_size=1, **changes)


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def put_zip(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in files.items():
            zipped.writestr(name, data)


def refusal(path: str, data_dir: Path) -> str:
    with pytest.raises(DatasetError) as caught:
        load(config(path), data_dir)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence
