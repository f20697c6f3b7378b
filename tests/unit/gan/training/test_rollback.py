"""What the loop does when its numbers are no longer finite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.gan.events import EpochDone, Note, Saved, Steps, TrainingFailed
from ganboard.gan.presets import load
from ganboard.gan.training.step import Stepper
from tests.recorder import Recorder, run


def poison(monkeypatch: pytest.MonkeyPatch, *steps: int) -> None:
    """Makes a weight of the generator NaN before each of the numbered steps is taken for the first
    time."""
    original, left = Stepper.run, list(steps)

    def poisoned(
        self: Stepper, order: Any, first: int, global_step: int, count: int, *rates: Any
    ) -> Any:
        if left and global_step <= left[0] < global_step + count:
            left.pop(0)
            self.nets.generator.get_layer("dense").kernel.assign(
                np.full((100, 12544), np.nan, np.float32)
            )
        return original(self, order, first, global_step, count, *rates)

    monkeypatch.setattr(Stepper, "run", poisoned)


def test_a_run_whose_numbers_are_not_finite_ends_and_keeps_its_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(monkeypatch, 5)
    sink = Recorder()
    with pytest.raises(
        TrainingFailed,
        match=(
            r"A loss in the discriminator is not finite at step \d of epoch 2.*lower the learning"
            r" rates"
        ),
    ):
        run(load("tiny", {"epochs": 3}), tmp_path, sink=sink)
    assert [saved.step for saved in sink.of(Saved)] == [4]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["ckpt-4-1"]


def test_a_run_goes_back_once_and_on_with_half_the_rates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(monkeypatch, 5)
    recorder, outcome = run(load("tiny", {"epochs": 3, "on_non_finite": "roll_back"}), tmp_path)
    assert outcome == "finished"
    (error,) = [note.text for note in recorder.of(Note) if note.level == "error"]
    assert "rolled back to the checkpoint of step 4" in error
    assert [done.epoch for done in recorder.of(EpochDone)] == [1, 2, 3]
    rates = {block.epoch: block.series["g_rate"] for block in recorder.of(Steps)}
    assert (rates[1][0], rates[3][0]) == pytest.approx((1e-4, 5e-5))


def test_a_run_that_went_back_does_so_no_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(monkeypatch, 2, 3)
    sink = Recorder()
    with pytest.raises(TrainingFailed, match="after one rollback"):
        run(load("tiny", {"on_non_finite": "roll_back"}), tmp_path, sink=sink)
    assert "rolled back to the start" in sink.of(Note)[-1].text
