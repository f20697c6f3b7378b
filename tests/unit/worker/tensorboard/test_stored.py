"""Stored runs as event files, read back by TensorBoard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tensorboard.plugins.hparams import api_pb2

from ganboard.db.runs import queries
from ganboard.worker.context import Context
from ganboard.worker.tensorboard import stored
from ganboard.worker.tensorboard.stored import BadFolder
from tests.factories import make_run, png
from tests.scripts import script_run
from tests.unit.worker.tensorboard.boards import Shown, f32


def test_everything_stored_is_shown_at_its_step(context: Context, tmp_path: Path) -> None:
    run = make_run(context, "a run", epochs=2, steps_per_epoch=4, quality_every=1)
    stored.write(context, run, tmp_path)
    shown = Shown(tmp_path)
    (name,) = shown.runs
    assert name == f"a-run-{run.id}"
    losses = queries.step_losses(context.engine, run.id, 2)
    assert losses is not None
    assert list(shown.scalars(name, "g_loss")) == list(range(1, 9))
    assert list(shown.scalars(name, "g_loss").values())[4:] == f32(losses.g_losses)
    first, second = queries.epochs(context.engine, run.id)
    assert shown.scalars(name, "epoch") == {4: 1, 8: 2}
    assert shown.scalars(name, "epoch/d_loss") == dict(
        zip((4, 8), f32([first.d_loss, second.d_loss]), strict=True)
    )
    assert "epoch/peak_memory_bytes" in shown.tags(name, "scalars")
    assert {"g_rate", "d_effective", "quality/fid"} <= set(shown.tags(name, "scalars"))
    _, at, _ = shown.points(name, "epoch/d_loss")[1]
    assert at == pytest.approx(second.finished_at.timestamp(), abs=1e-3)


def test_histograms_hold_every_loss_of_their_epoch(context: Context, tmp_path: Path) -> None:
    run = make_run(context, epochs=2, steps_per_epoch=40)
    stored.write(context, run, tmp_path)
    shown = Shown(tmp_path)
    (name,) = shown.runs
    points = shown.points(name, "losses/g_loss")
    assert [step for step, _, _ in points] == [40, 80]
    losses = queries.step_losses(context.engine, run.id, 1)
    assert losses is not None
    buckets = points[0][2]
    assert buckets[:, 2].sum() == 40
    assert buckets[0, 0] == pytest.approx(losses.g_losses.min())
    assert buckets[-1, 1] == pytest.approx(losses.g_losses.max())


def test_images_settings_and_events(context: Context, tmp_path: Path) -> None:
    run = make_run(context, epochs=1, seed=3, batch_size=32)
    stored.write(context, run, tmp_path)
    shown = Shown(tmp_path)
    (name,) = shown.runs
    images = shown.points(name, "images/fixed_latents")
    assert [step for step, _, _ in images] == [0, 4]
    assert images[0][2].tolist() == [b"112", b"112", png(3)]
    settings = shown.settings(name)
    assert settings["batch_size"] == 32
    assert settings["xla"] is False
    assert settings["name"] == "a run"
    assert shown.ended(name) == api_pb2.STATUS_SUCCESS
    assert b"| batch_size | 32 |" in shown.points(name, "configuration")[0][2].item()
    texts = [value.item() for _, _, value in shown.points(name, "events/info")]
    assert b"Finished." in texts


def test_a_failed_run_and_one_without_steps(context: Context, tmp_path: Path) -> None:
    failed = make_run(context, "failed", status="failed", epochs=1)
    waiting = make_run(context, "waiting", status="queued")
    for run in (failed, waiting):
        stored.write(context, run, tmp_path)
    shown = Shown(tmp_path)
    assert shown.ended(f"failed-{failed.id}") == api_pb2.STATUS_FAILURE
    assert shown.settings(f"waiting-{waiting.id}")["name"] == "waiting"
    assert shown.tags(f"waiting-{waiting.id}", "scalars") == []


def test_a_script_s_run_keeps_its_metrics_and_times(context: Context, tmp_path: Path) -> None:
    run = script_run(context, epochs=2)
    stored.write(context, run, tmp_path)
    shown = Shown(tmp_path)
    (name,) = shown.runs
    assert shown.scalars(name, "psnr")[20] == 40.0
    assert np.diff([at for _, at, _ in shown.points(name, "psnr")]).tolist() == [1.0] * 19
    assert shown.steps(name, "images/fixed_latents") == [10, 20]


@pytest.mark.parametrize("named", ["<b>/../..", "", "مرحبا", "w" * 80])
def test_names_are_safe_folders(context: Context, tmp_path: Path, named: str) -> None:
    run = make_run(context, named or "x", epochs=0, status="queued")
    run.name = named
    path = stored.write(context, run, tmp_path)
    assert path.parent.parent == tmp_path
    assert path.parent.name.endswith(run.id)


def test_nothing_is_overwritten(context: Context, tmp_path: Path) -> None:
    run = make_run(context, epochs=1)
    stored.write(context, run, tmp_path)
    with pytest.raises(BadFolder, match="exists already"):
        stored.write(context, run, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BadFolder, match="cannot be written"):
        stored.write(context, run, tmp_path / "file")
