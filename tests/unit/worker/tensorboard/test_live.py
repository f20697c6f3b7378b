"""Event files written while a run trains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tensorboard.plugins.hparams import api_pb2

from ganboard.db.models import Run
from ganboard.gan.config import RunConfig
from ganboard.gan.events import EpochDone, Event, Grid, Note, Quality, Started, Steps
from ganboard.gan.presets import load
from ganboard.worker.tensorboard.live import EventFiles
from tests.factories import png
from tests.unit.worker.tensorboard.boards import Shown, f32

CONFIG = load("tiny", {"epochs": 2, "tensorboard": True})
RUN = Run(id="abc", name="live", config=CONFIG.model_dump(mode="json"))


def started(step: int = 0) -> Started:
    return Started({}, 16, 4, step, 1, 1)


def steps(epoch: int, first: int, count: int, value: float = 0.0) -> Steps:
    losses = value + np.arange(first, first + count, dtype=np.float32)
    return Steps(epoch, first, losses, -losses, {"g_rate": losses * 0 + np.float32(1e-4)})


def done(epoch: int) -> EpochDone:
    return EpochDone(epoch, 0.5, 1.5, 2.0, 0.1, 128, (0.0, 0.0), (0.0, 0.0), {"d_real": 0.5})


def write(folder: Path, *events: Event, config: RunConfig = CONFIG) -> list[Event]:
    said: list[Event] = []
    with EventFiles(folder, RUN, config, said.append) as files:
        for event in events:
            files(event)
    return said


def test_a_training_is_shown_as_it_was_reported(tmp_path: Path) -> None:
    write(
        tmp_path,
        Note("warning", "early"),
        started(),
        Grid(0, png(1), 4, 4),
        steps(1, 0, 3),
        steps(1, 3, 1),
        done(1),
        Quality(1, 0.1, 2.0, {"fid": 3.0}, ()),
        steps(2, 0, 4),
        done(2),
        Grid(2, png(2), 4, 4),
    )
    shown = Shown(tmp_path)
    (name,) = shown.runs
    assert name == "tensorboard"
    assert shown.scalars(name, "g_loss") == dict(zip(range(1, 9), [0, 1, 2, 3] * 2, strict=True))
    assert list(shown.scalars(name, "g_rate").values()) == f32([1e-4] * 8)
    assert shown.scalars(name, "epoch/d_real") == {4: 0.5, 8: 0.5}
    assert shown.scalars(name, "quality/fid") == {4: 3.0}
    assert shown.steps(name, "images/fixed_latents") == [0, 8]
    assert [one[2][:, 2].sum() for one in shown.points(name, "losses/g_loss")] == [4, 4]
    assert shown.settings(name)["name"] == "live"
    assert shown.ended(name) == api_pb2.STATUS_SUCCESS


def test_a_resumed_training_replaces_what_it_repeats(tmp_path: Path) -> None:
    write(tmp_path, started(), steps(1, 0, 4), done(1), steps(2, 0, 3, value=50))
    # the checkpoint was of step 6: its epoch's steps are reported once more, then go on
    write(tmp_path, started(6), steps(2, 0, 2, value=50), steps(2, 2, 2, value=70), done(2))
    shown = Shown(tmp_path)
    (name,) = shown.runs
    assert shown.scalars(name, "g_loss") == {1: 0, 2: 1, 3: 2, 4: 3, 5: 50, 6: 51, 7: 72, 8: 73}
    assert [one[2][:, 2].sum() for one in shown.points(name, "losses/g_loss")] == [4, 4]


def test_a_training_that_was_interrupted_has_no_end(tmp_path: Path) -> None:
    write(tmp_path, started(), steps(1, 0, 4), done(1))
    shown = Shown(tmp_path)
    with pytest.raises(KeyError):
        shown.ended("tensorboard")


def test_losses_that_are_not_finite_are_kept(tmp_path: Path) -> None:
    losses = np.array([np.nan, np.inf, 1, 2], np.float32)
    write(tmp_path, started(), Steps(1, 0, losses, losses), done(1))
    shown = Shown(tmp_path)
    assert np.isnan(shown.scalars("tensorboard", "g_loss")[1])
    assert shown.scalars("tensorboard", "g_loss")[2] == np.inf
    assert shown.points("tensorboard", "losses/g_loss")[0][2][:, 2].sum() == 2


def test_a_folder_that_cannot_be_written_is_said_and_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").touch()
    (said,) = write(tmp_path, started(), steps(1, 0, 4), done(1))
    assert isinstance(said, Note)
    assert said.level == "warning"
    assert "no longer written" in said.text
