"""Pictures read from the disk train as those in memory do, on several replicas and in several
processes too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scale.picture_feed import write
from tests.up import free_port

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


SIZES = ["--examples", "96", "--side", "32", "--batch", "8", "--steps", "10", "--width", "4"]


def begin(folder: Path, *options: str, **environment: str) -> subprocess.Popen[str]:
    """A process that takes some steps on two replicas."""
    command = [sys.executable, "-m", "tests.scale.picture_feed", str(folder), *SIZES]
    return subprocess.Popen(
        [*command, "--replicas", "2", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def losses(process: subprocess.Popen[str]) -> str:
    """Digest of the losses of these steps."""
    output, problem = process.communicate(timeout=300)
    assert process.returncode == 0, problem[-3000:]
    [line] = [line for line in output.splitlines() if line.startswith("  losses ")]
    return line.split()[1]


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_two_replicas_read_what_is_in_memory(tmp_path: Path, loop: str) -> None:
    on_disk = losses(begin(tmp_path, "--loop", loop))
    assert on_disk == losses(begin(tmp_path, "--loop", loop, "--in-memory"))


def test_two_processes_read_what_is_in_memory(tmp_path: Path) -> None:
    write(tmp_path / "96-32.npy", 96, 32, 3)  # both would
    found = []
    for options in ([], ["--in-memory"]):
        cluster = {"worker": [f"127.0.0.1:{free_port()}" for _ in range(2)]}
        group = []
        for index in range(2):
            place = {"cluster": cluster, "task": {"type": "worker", "index": index}}
            strategy = ["--strategy", "multi_worker", *options]
            group.append(begin(tmp_path, *strategy, TF_CONFIG=json.dumps(place)))
        found += [losses(process) for process in group]
    assert len(found) == 4
    assert len(set(found)) == 1
