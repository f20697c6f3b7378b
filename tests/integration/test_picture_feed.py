"""Pictures read from the disk train as those in memory do, on several replicas too; each case in a
process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


def losses(folder: Path, *options: str) -> str:
    """Digest of the losses of some steps."""
    command = [sys.executable, "-m", "tests.scale.picture_feed", str(folder)]
    sizes = ["--examples", "96", "--side", "32", "--batch", "8", "--steps", "10", "--width", "4"]
    done = subprocess.run([*command, *sizes, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("  losses ")]
    return line.split()[1]


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_two_replicas_read_what_is_in_memory(tmp_path: Path, loop: str) -> None:
    options = "--replicas", "2", "--loop", loop
    assert losses(tmp_path, *options) == losses(tmp_path, *options, "--in-memory")
