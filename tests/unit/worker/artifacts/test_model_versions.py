"""worker.artifacts.model_versions: versions of models on two machines with one store."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from ganboard.db.models import ModelVersion, Run
from ganboard.db.placement import artifacts
from ganboard.db.runs import commands
from ganboard.gan.generation import package
from ganboard.gan.generation.package import VersionError
from ganboard.worker.artifacts import model_versions, uploader
from ganboard.worker.artifacts.store import Store, StoreAway, StoreError, open_store
from ganboard.worker.context import Context
from ganboard.worker.doctor.files import damaged_models
from ganboard.worker.registry import download, measurement, standing
from ganboard.worker.registry import versions as models
from tests.factories import png
from tests.registered import DCGAN, config, finished
from tests.stores import names
from tests.versions import add_version


def kept(context: Context) -> Store:
    found = open_store(context.settings)
    assert found is not None
    return found


def uploaded(context: Context) -> int:
    return uploader.upload_round(context, kept(context), {})


def stored(context: Context) -> list[str]:
    """The versions that the store has, by the database and by itself."""
    there = names(kept(context), "models")
    assert set(there) == artifacts.stored_versions(context.engine)
    return there


@pytest.fixture
def version(here: Context) -> ModelVersion:
    """A version that was registered here and stored."""
    registered = add_version(here)
    assert uploaded(here) == 1
    assert uploaded(here) == 0
    return registered


def test_a_version_is_fetched_where_it_is_used(
    here: Context, other: Context, version: ModelVersion, tmp_path: Path
) -> None:
    assert stored(here) == [version.id]
    assert uploaded(other) == 0
    download.write(other, version, tmp_path / "digits.zip")
    with ZipFile(tmp_path / "digits.zip") as archive:
        assert set(archive.namelist()) == {
            "README.txt", "manifest.json", "weights.npz", "examples.png",
        }  # fmt: skip
    own, fetched = (one.settings.model_dir(version.id) for one in (here, other))
    for file in own.iterdir():
        assert (fetched / file.name).read_bytes() == file.read_bytes()
    kept(here).remove("models")
    assert model_versions.folder(other, version) == fetched  # not asked for again


def test_it_generates_and_is_quantized_on_another_machine(
    here: Context, other: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def footprint(directory: Path, digest: str) -> float:
        measured.append(directory)
        return 5e8

    monkeypatch.setattr(measurement, "footprint", footprint)
    run, _ = finished(here, config(DCGAN))
    registered = models.add(here, run, "digits")
    uploaded(here)
    one, same = models.load(here, registered), models.load(other, registered)
    inputs = one.generation.probe()
    np.testing.assert_array_equal(one(inputs), same(inputs))
    shutil.rmtree(other.settings.model_dir(registered.id))
    quantized = models.quantize(other, registered, "float16", force=True)
    assert other.settings.model_dir(registered.id) in measured
    assert uploaded(other) == 1
    assert stored(here) == sorted([registered.id, quantized.id])
    assert models.load(here, quantized).manifest.variant == "float16"


def test_a_page_fetches_no_weights(other: Context, version: ModelVersion) -> None:
    assert models.picture(other, version) == png(1)
    assert models.manifest(other, version).id == version.id
    [preview] = (other.settings.state / "previews").iterdir()
    assert sorted(path.name for path in preview.iterdir()) == ["examples.png", "manifest.json"]
    assert not other.settings.model_dir(version.id).exists()
    assert standing.standings(other, [version])[version.id].short == "not evaluated"
    models.remove(other, version)
    assert not preview.exists()


def test_it_stays_with_its_run_gone_and_goes_when_removed(here: Context, other: Context) -> None:
    run = commands.create_run(here.engine, name="a run", config={"batch_size": 8})
    version, stays = add_version(here, run_id=run.id), add_version(here, run_id=run.id)
    assert uploaded(here) == 2
    commands.claim(here.engine, run_id=run.id, worker="w")
    commands.finish(here.engine, run_id=run.id, attempt=1, status="finished")
    commands.delete_run(here.engine, run_id=run.id)
    uploaded(here)
    assert stored(here) == sorted([version.id, stays.id])
    models.remove(here, version)
    uploaded(other)
    assert stored(here) == [stays.id]
    shutil.rmtree(here.settings.model_dir(stays.id))
    assert package.read(model_versions.folder(here, stays), stays.digest)


def test_without_the_store_the_machine_is_asked_for(
    here: Context, other: Context, version: ModelVersion
) -> None:
    poor = replace(other, settings=other.settings.model_copy(update={"store": ""}))
    unstored = add_version(here)
    for context, one in ((poor, version), (other, unstored)):
        with pytest.raises(VersionError, match="neither on this machine nor in an artifact store"):
            model_versions.folder(context, one)
        with pytest.raises(VersionError, match="neither on this machine nor in an artifact store"):
            models.picture(context, one)


@pytest.mark.parametrize("harm", ["weights.npz", "examples.png", "manifest.json"])
def test_what_the_store_has_damaged_is_never_used(
    other: Context, version: ModelVersion, harm: str, tmp_path: Path
) -> None:
    (tmp_path / "harm").write_bytes(b"PK")
    kept(other).put(tmp_path / "harm", f"models/{version.id}/{harm}")
    with pytest.raises(StoreError, match=r"^digits:1 in the store .* is damaged and was not used"):
        model_versions.folder(other, version)
    assert list((other.settings.state / "models").iterdir()) == []


@pytest.mark.parametrize("harm", ["weights.npz", "manifest.json"])
def test_what_is_damaged_here_is_not_stored_and_stops_nothing(
    here: Context, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken, sound = add_version(here), add_version(here)
    (here.settings.model_dir(broken.id) / harm).write_bytes(b"PK")
    refused: dict[uploader.Place, float] = {}
    assert uploader.upload_round(here, kept(here), refused) == 1
    assert uploader.upload_round(here, kept(here), refused) == 0
    assert list(refused) == [(broken.id, 0, 0)]
    assert sum(record.levelname == "WARNING" for record in caplog.records) == 1
    assert artifacts.stored_versions(here.engine) == {sound.id}


@pytest.mark.parametrize("after", ["weights.npz", "examples.png", "manifest.json"])
def test_what_a_cut_interrupts_is_stored_again(
    here: Context, other: Context, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = add_version(here)
    put = Store.put

    def cut(self: Store, file: Path, key: str, **options: Any) -> None:
        put(self, file, key, **options)
        if file.name == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "put", cut)
        with pytest.raises(KeyboardInterrupt):
            uploaded(here)
    assert artifacts.stored_versions(here.engine) == set()
    assert uploaded(here) == 1
    assert package.read(model_versions.folder(other, version), version.digest)


def test_a_page_asks_a_store_that_does_not_answer_once(
    other: Context, version: ModelVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def away(self: Store, key: str, file: Path) -> None:
        asked.append(key)
        raise StoreAway("It does not answer.")

    monkeypatch.setattr(Store, "get", away)
    monkeypatch.setattr(model_versions, "_away_until", 0.0)
    for _ in range(3):
        assert standing.standings(other, [version])[version.id].short == "not evaluated"
        with pytest.raises(StoreAway):
            models.picture(other, version)
    assert len(asked) == 1


def test_the_doctor_misses_none_that_the_store_has(
    here: Context, other: Context, version: ModelVersion, make_run: Callable[..., Run]
) -> None:
    assert [check.status for check in damaged_models(here.settings, here.engine)] == ["ok"]
    assert list(damaged_models(other.settings, other.engine)) == []
    add_version(here)
    [check] = damaged_models(other.settings, other.engine)
    assert (check.status, check.text) == ("fail", "missing or damaged: digits:2")
