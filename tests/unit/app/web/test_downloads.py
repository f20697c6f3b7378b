"""Files of versions of models: pictures, thumbnails and ZIP files, and what is refused."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from PIL import Image

from ganboard.db import requests
from ganboard.db.models import Run
from ganboard.gan import files
from ganboard.worker.artifacts import network_files
from ganboard.worker.context import Context
from ganboard.worker.registry import versions as models
from tests.traces import put_trace
from tests.unit.app.web.answers import get, refused
from tests.versions import add_version


def test_a_version_is_downloaded_whole(context: Context) -> None:
    version = add_version(context)
    answer = get(f"/api/models/{version.id}.zip")
    assert 'filename="digits-1.zip"' in answer.headers["content-disposition"]
    with answer.files as archive:
        assert {*archive.namelist()} == {
            "README.txt",
            "manifest.json",
            "weights.npz",
            "examples.png",
        }
        assert version.digest in archive.read("README.txt").decode()
    thumbnail = get(f"/api/models/{version.id}.png?height=20")
    assert "immutable" in thumbnail.headers["cache-control"]
    with Image.open(io.BytesIO(thumbnail.body)) as image:
        assert image.height == 20


def test_what_is_not_there_is_refused(context: Context) -> None:
    version = add_version(context)
    assert "is not a whole number" in refused(f"/api/models/{version.id}.png?height=0", 400)
    (context.settings.model_dir(version.id) / "weights.npz").write_bytes(b"")
    assert "weights.npz is damaged" in refused(f"/api/models/{version.id}.zip", 503)
    models.remove(context, version)
    assert "There is no version" in refused(f"/api/models/{version.id}.zip", 404)
    assert "There is no version" in refused("/api/models/etc.png", 404)


def test_a_run_is_reported(context: Context, make_run: Callable[..., Run]) -> None:
    run = make_run()
    answer = get(f"/api/runs/{run.id}/report.html")
    assert f'filename="{run.id}-report.html"' in answer.headers["content-disposition"]
    assert b"Repeat it" in answer.body
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", "")
        assert "No Chromium or Chrome was found" in refused(f"/api/runs/{run.id}/report.pdf", 503)


def test_profiler_traces_are_downloaded(context: Context, make_run: Callable[..., Run]) -> None:
    run = make_run()
    for name in ("profile.zip", "trace.json.gz"):
        assert "has no profiler trace" in refused(f"/api/runs/{run.id}/{name}", 404)
    put_trace(context, run.id)
    answer = get(f"/api/runs/{run.id}/profile.zip")
    assert f'filename="{run.id}-profile.zip"' in answer.headers["content-disposition"]
    with answer.files as archive:
        assert {name.rpartition("/")[2] for name in archive.namelist()} == {
            "box.xplane.pb",
            "box.trace.json.gz",
        }
    answer = get(f"/api/runs/{run.id}/trace.json.gz")
    assert answer.body == b"timeline"
    assert answer.headers["content-type"] == "application/gzip"


def test_a_network_is_downloaded_as_it_was_written(
    context: Context, make_run: Callable[..., Run]
) -> None:
    run, other = make_run(), make_run()
    asked = requests.ask(context.engine, requests.NETWORK_FILE, [run.id], {"format": "keras"})
    address = f"/api/runs/{run.id}/networks/{asked}"
    assert "has no file of a network" in refused(address, 404)
    request = requests.claim(context.engine, requests.NETWORK_FILES, asked)
    assert request is not None
    path = network_files.folder(context, run.id) / asked
    path.parent.mkdir(parents=True)
    path.write_bytes(b"a network" * 20_000)
    size, digest = files.measure(path)
    facts = {"file": "generator.keras", "size": size, "digest": digest, "machine": "box"}
    requests.answer(context.engine, request, result=b"", facts=facts)
    answer = get(address)
    assert (answer.status, answer.body, answer.parts > 1) == (200, path.read_bytes(), True)
    assert answer.headers["content-length"] == str(size)
    assert answer.headers["content-disposition"] == 'attachment; filename="generator.keras"'
    for wrong in (other.id, "etc"):
        refused(f"/api/runs/{wrong}/networks/{asked}", 404)
    refused(f"/api/runs/{run.id}/networks/..%2F..%2Fkey", 404)
    path.write_bytes(b"other")
    assert "is damaged on this machine" in refused(address, 404)
    path.unlink()
    assert "is on machine box and in no artifact store" in refused(address, 404)
