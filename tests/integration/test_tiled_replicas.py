"""A frame by tiles is the same frame, however many replicas compute it; in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow


def test_one_tile_at_a_time_groups_and_replicas_give_the_same_frame(tmp_path: Path) -> None:
    output = tmp_path / "frames.npz"
    done = subprocess.run([sys.executable, "-m", "tests.integration.tiled", "2", str(output)], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(output) as found:
        assert found["one"].shape == (64, 320, 3)
        assert found["one"].std() > 0.01
        for name in ("grouped", "replicas", "groups", "xla"):
            np.testing.assert_allclose(found[name], found["one"], atol=1e-5)
        assert [int(found[f"{name} compiled"]) for name in ("one", "grouped", "replicas", "groups", "xla")] == [1] * 5
