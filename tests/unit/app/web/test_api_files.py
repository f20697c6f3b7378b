"""The files that other programs fetch: grids, exports and models."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ganboard.app.web import api
from ganboard.db.models import Run
from ganboard.db.runs import queries, reports
from ganboard.gan.checkpoint import store
from ganboard.gan.progress import Progress
from ganboard.worker.context import Context
from ganboard.worker.interchange import export
from tests.factories import HOSTILE_NAMES, png
from tests.unit.app.web.answers import get, refused

MakeRun = Callable[..., Run]


def test_grids_are_pictures_that_may_be_kept(context: Context, make_run: MakeRun) -> None:
    run = make_run(epochs=2)
    address = f"/api/runs/{run.id}/grids/1.png"
    stored = queries.grid(context.engine, run.id, 1)
    assert stored is not None
    fixed, loose, other = get(f"{address}?attempt=1"), get(address), get(f"{address}?attempt=2")
    assert fixed.body == loose.body == other.body == stored.png
    assert "immutable" in fixed.headers["cache-control"]
    assert loose.headers["cache-control"] == other.headers["cache-control"] == "no-cache"
    with (
        Image.open(io.BytesIO(stored.png)) as small,
        Image.open(io.BytesIO(get(f"{address}?scale=3").body)) as large,
    ):
        assert large.size == (3 * small.width, 3 * small.height)
        assert np.array_equal(np.asarray(large)[::3, ::3], np.asarray(small))


def test_thumbnails_are_small_and_may_be_kept_for_a_while(make_run: MakeRun) -> None:
    run = make_run(epochs=2)
    address = f"/api/runs/{run.id}/grids/1.png"
    answer = get(f"{address}?height=40")
    assert answer.headers["cache-control"] == "private, max-age=3600"
    assert "immutable" in get(f"{address}?height=40&attempt=1").headers["cache-control"]
    with Image.open(io.BytesIO(answer.body)) as small:
        assert small.height == 40
    with (
        Image.open(io.BytesIO(get(address).body)) as whole,
        Image.open(io.BytesIO(get(f"{address}?height=512").body)) as same,
    ):
        assert same.size == whole.size  # never enlarged
    for height in ("0", "513", "-1", "x", ""):
        assert "from 1 to 512" in refused(f"{address}?height={height}", 400)


def test_real_images_are_the_grid_of_epoch_minus_one(context: Context, make_run: MakeRun) -> None:
    run = make_run(status="running")
    assert (
        refused(f"/api/runs/{run.id}/grids/-1.png", 404) == f"Run {run.id} has no grid of epoch -1."
    )
    reports.add_grid(
        context.engine, run_id=run.id, attempt=1, epoch=-1, rows=4, columns=4, png=png(1)
    )
    assert get(f"/api/runs/{run.id}/grids/-1.png").body == png(1)


def test_grids_that_are_not_there_are_refused(make_run: MakeRun) -> None:
    run = make_run()
    for epoch in (
        "99",
        "-2",
        "999999999",
        "9999999999",
        "1e1",
        "x",
        "1.0",
        "+1",
        "%C2%B2",
        "%20",
        "1;2",
    ):
        answer = get(f"/api/runs/{run.id}/grids/{epoch}.png")
        assert answer.status in (400, 404)
        assert set(answer.json) == {"error"}
    for scale in ("0", "17", "-1", "x", "1e9"):
        assert "from 1 to 16" in refused(f"/api/runs/{run.id}/grids/0.png?scale={scale}", 400)


def test_everything_in_one_file(context: Context, make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(HOSTILE_NAMES[0], epochs=2, quality_every=1)
    answer = get(f"/api/runs/{run.id}/export.zip")
    assert answer.headers["content-disposition"] == f'attachment; filename="{run.id}.zip"'
    written = export.export(context, run, tmp_path / "out")
    files = answer.files
    assert sorted(files.namelist()) == sorted(
        f"{run.id}/{path.relative_to(tmp_path / 'out')}" for path in written
    )
    for path in written:
        assert files.read(f"{run.id}/{path.relative_to(tmp_path / 'out')}") == path.read_bytes()


def checkpoint(context: Context, run: Run, step: int = 12) -> Path:
    directory = context.settings.run_dir(run.id) / "checkpoints"
    arrays = {"generator/dense": np.arange(6, dtype=np.float32)}
    store.save(directory, arrays, Progress(step=step), digest="d", attempt=1)
    return directory / f"ckpt-{step}-1"


def test_the_newest_model_with_words_on_how_to_load_it(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    checkpoint(context, run, 4)
    newest = checkpoint(context, run, 12)
    answer = get(f"/api/runs/{run.id}/model")
    assert answer.headers["content-disposition"] == f'attachment; filename="{run.id}-model.zip"'
    assert sorted(answer.files.namelist()) == [
        "README.txt",
        "config.json",
        "manifest.json",
        "state.npz",
    ]
    assert answer.files.read("state.npz") == (newest / "state.npz").read_bytes()
    assert json.loads(answer.files.read("config.json")) == run.config
    words = answer.files.read("README.txt").decode()
    assert f"run {run.id}, saved after step 12." in words
    assert "{name: state[name] for name in nets.arrays()}" in words


def test_a_model_that_vanishes_meanwhile(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    (checkpoint(context, run) / "state.npz").unlink()
    assert "replaced by a newer one during the export. Try again." in refused(
        f"/api/runs/{run.id}/model", 404
    )


def test_nothing_is_left_behind(
    context: Context, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    get(f"/api/runs/{run.id}/export.zip")
    refused(f"/api/runs/{run.id}/model", 404)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_no_more_than_two_files_are_packed_at_once(make_run: MakeRun) -> None:
    run = make_run()
    with api._packing, api._packing:
        assert "Two files are already being created" in refused(
            f"/api/runs/{run.id}/export.zip", 503
        )
    assert get(f"/api/runs/{run.id}/export.zip").status == 200


def test_the_log_as_it_is(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    assert "has no log on this machine" in refused(f"/api/runs/{run.id}/train.log", 404)
    path = context.settings.log_path(run.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"line\n" * 100_000)
    answer = get(f"/api/runs/{run.id}/train.log")
    assert answer.body == path.read_bytes()
    assert answer.parts == 8
    assert answer.headers["content-disposition"] == f'attachment; filename="{run.id}.log"'
    assert "has no log" in refused(f"/api/runs/{run.id}/train.log?machine=another", 404)
    path.unlink()
    path.symlink_to("/etc/passwd")
    refused(f"/api/runs/{run.id}/train.log", 404)
