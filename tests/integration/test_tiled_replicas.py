"""A frame by tiles is the same frame, however many replicas compute it, and what they take is
measured; in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.streets import make_street

pytestmark = pytest.mark.slow


@pytest.mark.thorough
def test_one_tile_at_a_time_groups_and_replicas_give_the_same_frame(tmp_path: Path) -> None:
    output = tmp_path / "frames.npz"
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.tiled", "2", str(output)],
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(output) as found:
        assert found["one"].shape == (64, 320, 3)
        assert found["one"].std() > 0.01
        for name in ("grouped", "replicas", "groups", "xla"):
            np.testing.assert_allclose(found[name], found["one"], atol=1e-5)
        assert [
            int(found[f"{name} compiled"])
            for name in ("one", "grouped", "replicas", "groups", "xla")
        ] == [1] * 5


QUICK = (
    "from ganboard.gan.models.pix2pix.prediction import timings;"
    " timings.BATCHES, timings.REPEATS = (2,), 2;"
    " from ganboard.worker.cli.main import app; app()"
)


@pytest.mark.thorough
def test_training_and_inference_are_measured_by_replicas(
    context: Context, make_run: Callable[..., Run]
) -> None:
    run = make_street(context, make_run)
    command = [sys.executable, "-c", QUICK, "predict", run.id, "--times", "--halo", "16", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = json.loads(done.stdout)["rows"]
    assert [(row["what"], row["replicas"], row["size"]) for row in rows] == [
        ("training", 1, 2), ("training", 2, 2), ("inference", 1, 1), ("inference", 1, 2),
        ("inference", 1, 4), ("inference", 2, 2), ("inference", 2, 4),
    ]  # fmt: skip
    assert all(row["first"] > 0 and row["seconds"] > row["each"] > 0 for row in rows)
