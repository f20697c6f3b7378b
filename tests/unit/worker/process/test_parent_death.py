"""Children end with their parents."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.polling import wait_until


def became(pid: int, program: str) -> bool:
    """Whether the process is `program` itself, no longer what starts it."""
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return (
        program in words
        and "ganboard.worker.process.exec_tied" not in words
        and "nice" not in words
    )


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


TIED = """
import subprocess, sys, time
from ganboard.worker.process.parent_death import environment_for_child
command = [sys.executable, '-m', 'ganboard.worker.process.exec_tied', 'sleep', '100']
child = subprocess.Popen(command, env=environment_for_child())
print(child.pid, flush=True)
time.sleep(100)
"""
PROBE = """
import sys, time
from ganboard.worker.queue.device_probe import DeviceProbe
probe = DeviceProbe()
print(probe._process.pid, flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize(
    ("parent", "program"),
    [(TIED, "sleep"), (PROBE, "ganboard.gan.devices.probe")],
    ids=["exec_tied", "probe"],
)
def test_a_tied_program_ends_when_its_parent_is_killed(parent: str, program: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        # only once the child has become `sleep` is it tied to its parent
        wait_until(lambda: became(child, program), seconds=30)
        os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not alive(child), seconds=5)


def test_a_child_of_a_dead_parent_does_not_start() -> None:
    script = (
        "import os; os.environ['GANBOARD_PARENT_PID'] = '1'; from"
        " ganboard.worker.process.parent_death import die_with_named_parent;"
        " die_with_named_parent()"
    )
    assert (
        subprocess.run([sys.executable, "-c", script], check=False).returncode
        == 128 + signal.SIGKILL
    )
