"""Stored runs as tables and figures for programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import plotly.io
import pytest

import ganboard
from ganboard.db.errors import BadSearch, UnknownRun
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.db.settings import SettingsError
from ganboard.worker.context import Context
from ganboard.worker.notebook.stored import COLUMNS, Course
from tests.scripts import script_run

MakeRun = Callable[..., Run]


@pytest.fixture(autouse=True)
def _home(context: Context) -> None:
    """The database of the environment."""


def test_all_runs_as_a_table(context: Context, make_run: MakeRun) -> None:
    small = make_run("small", batch_size=32, epochs=2, quality_every=1)
    large = make_run("large", batch_size=64, epochs=1)
    found = ganboard.runs()
    assert found.index.tolist() == [large.id, small.id]
    assert tuple(found.columns[: len(COLUMNS)]) == COLUMNS
    assert found.loc[small.id, ["name", "epoch", "batch_size"]].tolist() == ["small", 2, 32]
    assert found.loc[small.id, "fid"] == pytest.approx(22)
    assert found.loc[small.id, "g_loss"] == small.g_loss
    assert ganboard.runs("batch_size>=64").index.tolist() == [large.id]
    assert ganboard.runs("nobody").empty
    with pytest.raises(BadSearch):
        ganboard.runs("batch_size>=many")


def test_a_run_by_its_id(make_run: MakeRun) -> None:
    run = make_run("mine", epochs=2)
    found = ganboard.run(run.id[:4])
    assert (found.name, found.status, found.epoch, found.ended) == ("mine", "finished", 2, True)
    assert found.settings == run.config
    assert found.hardware["host"] == "testbox"
    assert repr(ganboard.run()) == f"<ganboard run {run.id} 'mine': finished, epoch 2>"
    with pytest.raises(UnknownRun):
        ganboard.run("zzzz")


def test_courses_hold_what_is_stored_and_draw_as_the_pages(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run(epochs=3, steps_per_epoch=4, quality_every=1)
    found = ganboard.run(run.id)
    stored = queries.step_losses(context.engine, run.id, 1)
    assert stored is not None
    assert found.losses.frame["g_loss"].tolist()[:4] == stored.g_losses.tolist()
    assert len(found.losses.plot().data[0].y) == 12
    assert found.losses.plot(x="time", log_y=True).layout.yaxis.type == "log"
    assert found.epochs.frame["epoch"].tolist() == [1, 2, 3]
    assert "compute_seconds" in found.timings.frame
    assert found.timings.plot().data
    assert found.rates.plot().data[0].uid == "g_rate"
    assert found.quality.frame["fid"].tolist() == pytest.approx([42, 22, 40 / 3 + 2])
    assert found.quality.plot(names=("recall",)).data[0].y.tolist() == pytest.approx(
        [0.51, 0.52, 0.53]
    )
    assert found.path.plot(net="d").data
    assert found.histogram("d").data[0].z.shape[1] == 3
    with pytest.raises(ValueError, match="neither"):
        found.histogram("x")


def test_a_course_shows_itself_in_a_notebook(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    shown = ganboard.run(make_run(epochs=1).id).losses._repr_mimebundle_()
    assert list(shown) == ["application/vnd.plotly.v1+json"]


def test_images_and_events(make_run: MakeRun) -> None:
    found = ganboard.run(make_run(epochs=2, seed=1).id)
    assert found.image().size == (112, 112)
    assert found.image(0).tobytes() != found.image(2).tobytes()
    with pytest.raises(KeyError, match="no images after epoch 9"):
        found.image(9)
    assert found.events["text"].tolist()[-1] == "Finished."


def test_metrics_of_a_script(context: Context) -> None:
    found = ganboard.run(script_run(context, epochs=1).id)
    assert isinstance(found.metric("psnr"), Course)
    assert found.metric("psnr").frame["value"].tolist() == [20.0 + n for n in range(1, 11)]
    assert found.metric("psnr").plot().layout.title.text == "psnr"
    with pytest.raises(KeyError, match=r"run \w+ has d_loss, g_loss, psnr"):
        found.metric("ssim")


def test_a_run_is_read_anew(context: Context, make_run: MakeRun) -> None:
    run = make_run("mine", epochs=1, status="running")
    found = ganboard.run(run.id)
    assert (found.status, found.ended) == ("running", False)
    commands.finish(context.engine, run_id=run.id, attempt=1, status="stopped")
    assert (found.status, found.ended) == ("stopped", True)


def test_without_a_database_a_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / "nothing"))
    with pytest.raises(SettingsError, match="There is no database"):
        ganboard.runs()
