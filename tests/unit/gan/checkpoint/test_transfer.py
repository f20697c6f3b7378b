"""First weights from another run's checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.checkpoint import store
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.checkpoint.transfer import transfer
from ganboard.gan.events import Facts, Grid, Note
from ganboard.gan.presets import load
from ganboard.gan.progress import Progress
from tests.recorder import run

CONFIG = load("tiny", {"epochs": 1, "limit": 32, "batch_size": 16})
STORED = {
    "generator/dense/kernel": np.full((3, 4), 2, np.float32),
    "discriminator/head/kernel": np.full((4, 1), 2, np.float32),
    "g_optimizer/iterations": np.int64(7).reshape(()),
}


def test_tensors_that_agree_are_taken_and_the_rest_named(tmp_path: Path) -> None:
    store.save(tmp_path, STORED, Progress(5, 1), digest="", attempt=1)
    untrained = {
        "generator/dense/kernel": np.zeros((3, 4), np.float32),
        "discriminator/head/kernel": np.zeros((9, 1), np.float32),
        "g_optimizer/iterations": np.int64(0).reshape(()),
        "average/dense/kernel": np.zeros((3, 4), np.float32),
    }
    found = transfer(tmp_path, untrained)
    assert (found.step, found.taken, found.new) == (5, 2, ["discriminator/head/kernel"])
    assert found.arrays.keys() == untrained.keys()
    # an average that the run did not keep begins as its G
    for name in ("generator/dense/kernel", "average/dense/kernel"):
        np.testing.assert_array_equal(found.arrays[name], STORED["generator/dense/kernel"])
    assert not found.arrays["discriminator/head/kernel"].any()
    assert found.arrays["g_optimizer/iterations"] == 0


def test_a_run_without_a_checkpoint_or_with_other_networks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint"):
        transfer(tmp_path, STORED)
    store.save(tmp_path, STORED, Progress(5, 1), digest="", attempt=1)
    with pytest.raises(CheckpointError, match=r"No tensor .* same model"):
        transfer(tmp_path, {"generator/dense/kernel": np.zeros((9, 9), np.float32)})


def test_a_run_begins_where_the_other_has_ended(tmp_path: Path) -> None:
    first, _ = run(CONFIG, tmp_path / "first")
    changes = {"start_from": "first", "ema": 0.9}
    second, outcome = run(CONFIG.model_copy(update=changes), tmp_path / "second")
    assert outcome == "finished"
    grids = {grid.epoch: grid.png for grid in second.of(Grid)}
    assert grids[0] == first.of(Grid)[-1].png
    assert grids[1] != grids[0]
    facts = [each.values["start_from"] for each in second.of(Facts) if "start_from" in each.values]
    assert facts == ["step 2 of run first, 38 of 38 tensors"]
    assert any("Starts from step 2 of run first" in note.text for note in second.of(Note))
    # its own checkpoint counts from then on
    (tmp_path / "first").rename(tmp_path / "gone")
    longer = CONFIG.model_copy(update={**changes, "epochs": 2})
    resumed, outcome = run(longer, tmp_path / "second", attempt=2)
    assert outcome == "finished"
    assert not any("Starts from" in note.text for note in resumed.of(Note))
