"""worker.artifacts.picture_caches: what one machine has decoded, another one fetches."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update
from sqlmodel import col

from ganboard.db import requests
from ganboard.db.clock import now
from ganboard.db.engine import writing
from ganboard.db.errors import UnknownRun
from ganboard.db.models import Artifact, Request
from ganboard.db.placement import artifacts
from ganboard.gan import presets
from ganboard.gan.data import pictures
from ganboard.gan.data.pictures import cache, decoder
from ganboard.worker.artifacts import picture_caches, uploader
from ganboard.worker.artifacts.store import Store, open_store
from ganboard.worker.context import Context
from ganboard.worker.requests import analysis
from ganboard.worker.requests.inference_worker import InferenceWorker
from tests.stores import names
from tests.unit.gan.data.pictures.files import grey, put


def kept(context: Context) -> Store:
    found = open_store(context.settings)
    assert found is not None
    return found


def upload(context: Context) -> int:
    return uploader.upload_round(context, kept(context), {})


def load(context: Context) -> pictures.Pictures:
    return pictures.load(context.settings.data, "set", 28, 1)


def folders(context: Context) -> list[Path]:
    return sorted(
        path for path in (context.settings.data / cache.FOLDER).iterdir() if path.is_dir()
    )


@pytest.fixture(autouse=True)
def nowhere_else() -> Iterator[None]:
    yield
    cache._elsewhere.clear()


@pytest.fixture
def made(here: Context, other: Context) -> str:
    """The name of a cache that was made and stored here; the other machine has the pictures."""
    data = here.settings.data
    put(data / "set", {"a/1.png": grey(1), "b/2.png": grey(2)})
    shutil.copytree(data / "set", other.settings.data / "set")  # with its times
    load(here)
    assert upload(here) == 1
    assert upload(here) == 0
    return folders(here)[0].name


@pytest.fixture
def no_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object) -> None:
        pytest.fail("it decodes")

    monkeypatch.setattr(decoder.Decoder, "run", refuse)


def test_another_machine_fetches_it(
    here: Context, other: Context, made: str, no_decoder: None
) -> None:
    assert list(artifacts.caches(here.engine)) == [made]
    assert names(kept(here), "data") == [made]
    picture_caches.offer(other)
    found = load(other)
    assert found.digest == load(here).digest
    assert found.classes == ("a", "b")
    assert found.remarks == ()
    assert upload(other) == 0


def test_so_does_the_search_for_nearest_images(
    here: Context, other: Context, made: str, no_decoder: None
) -> None:
    config = presets.load("tiny", {"dataset": "images", "images_path": "set"})
    images, _ = InferenceWorker()._training_images(other, config, lambda *_: None)
    assert len(images) == 2


def test_so_do_analyses(here: Context, other: Context, made: str, no_decoder: None) -> None:
    asked = Request(kind=requests.EVALUATION, run_id="gone")
    with pytest.raises(UnknownRun):
        analysis.compute(other, asked, lambda *_: None)
    assert load(other).digest == load(here).digest


def test_runs_that_are_removed_leave_it(here: Context, made: str) -> None:
    assert artifacts.of_removed_runs(here.engine) == []
    assert upload(here) == 0
    assert names(kept(here), "data") == [made]


@pytest.mark.parametrize("url", ["file"], indirect=True)
def test_a_damaged_one_is_decoded_instead(here: Context, other: Context, made: str) -> None:
    root = Path(here.settings.store.removeprefix("file://"))
    images = root / "data" / made / "images.npy"
    images.write_bytes(images.read_bytes()[:-1] + b"x")
    picture_caches.offer(other)
    found = load(other)
    assert found.digest == load(here).digest
    assert "made again" in found.remarks[0]


@pytest.mark.parametrize("url", ["file"], indirect=True)
def test_one_that_is_gone_is_decoded_instead(
    here: Context, other: Context, made: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept(here).remove(f"data/{made}")
    picture_caches.offer(other)
    assert load(other).digest == load(here).digest
    assert "was not fetched" in caplog.text


@pytest.mark.parametrize("url", ["file"], indirect=True)
def test_what_no_machine_uses_goes(here: Context, made: str) -> None:
    def used(days: float) -> None:
        with writing(here.engine) as session:
            before = now(-days * 86_400)
            session.execute(update(Artifact).values({col(Artifact.stored_at): before}))

    used(40)
    upload(here)
    assert list(artifacts.caches(here.engine)) == [made], "it was used here since"
    manifest = folders(here)[0] / cache.MANIFEST
    os.utime(manifest, (0, 0))
    used(40)
    upload(here)
    assert artifacts.caches(here.engine) == {}
    assert names(kept(here), "data") == []


@pytest.mark.parametrize("url", ["file"], indirect=True)
def test_a_damaged_or_very_large_one_is_not_stored(
    here: Context, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(here.settings.data / "set", {"1.png": grey(1)})
    load(here)
    with monkeypatch.context() as patched:
        patched.setattr(picture_caches, "MAX_BYTES", 100)
        assert upload(here) == 0
    images = folders(here)[0] / "images.npy"
    images.write_bytes(images.read_bytes()[:-1] + b"x")
    assert upload(here) == 0
    assert "is damaged and was not stored" in caplog.text
    assert artifacts.caches(here.engine) == {}
