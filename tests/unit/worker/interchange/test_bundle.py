"""Archives that are no bundle, or would harm whoever unpacks them, are refused with a sentence."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ganboard.worker.context import Context
from ganboard.worker.interchange import importer
from ganboard.worker.interchange.bundle import BadBundle


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        (
            {"../run.json": b"{}"},
            "its member '../run.json' has a name that is empty, absolute, or contains '..'",
        ),
        ({"/run.json": b"{}"}, "has a name that is empty, absolute"),
        ({"run.json": bytes(10**7)}, "expands more than 100 times"),
        ({"x/run.json": b"{}"}, "has no manifest.json"),
        ({}, "has no manifest.json"),
    ],
)
def test_strange_archives_are_refused(
    context: Context, tmp_path: Path, members: dict[str, bytes], sentence: str
) -> None:
    path = archive(tmp_path / "bundle.zip", members)
    with pytest.raises(BadBundle) as error:
        importer.read_in(context, path)
    assert sentence in str(error.value)


def test_no_archive_is_refused(context: Context, tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(b"hello")
    with pytest.raises(BadBundle, match="is not a zip file"):
        importer.read_in(context, tmp_path / "bundle.zip")
