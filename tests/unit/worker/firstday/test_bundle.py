from __future__ import annotations

import errno
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ganboard.gan.config import ConfigError
from ganboard.worker.context import Context
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.firstday import bundle
from ganboard.worker.firstday.firstday import document
from tests.unit.worker.firstday.days import CPU, make_day


def test_the_usual_place_has_host_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = bundle.place(None)
    assert path.name.startswith("firstday-")
    assert path.suffix == ".zip"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("day.tar", r"must end in \.zip"),
        ("absent/day.zip", r"cannot be written \(No such file or directory\)"),
    ],
)
def test_places_that_cannot_be_are_refused_at_once(
    tmp_path: Path, name: str, sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        bundle.place(tmp_path / name)


def test_a_file_that_is_there_is_left_until_the_end(tmp_path: Path) -> None:
    (tmp_path / "day.zip").write_bytes(b"former")
    bundle.place(tmp_path / "day.zip")
    assert (tmp_path / "day.zip").read_bytes() == b"former"


def test_a_disk_that_fills_up_is_one_sentence_that_says_where_the_results_are(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bundle, "_pack", full)
    found = document(make_day(context, tmp_path, CPU), [], datetime.now(UTC), 1.0)
    with pytest.raises(ServiceFailed, match=r"No space left on device.*firstday\.json\.$"):
        bundle.write(context, found, tmp_path / "day.zip")
    assert not (tmp_path / "day.zip").exists()
