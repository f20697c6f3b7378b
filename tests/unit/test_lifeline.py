"""Children end with their parents."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.polling import wait_until


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_guarded_program_ends_when_its_parent_is_killed() -> None:
    parent = (
        "import subprocess, sys, time; from worker.lifeline import environment_for_child\n"
        "child = subprocess.Popen([sys.executable, '-m', 'worker.guard', 'sleep', '100'], env=environment_for_child())\n"
        "print(child.pid, flush=True); time.sleep(100)"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        # only once the child has become `sleep` is the lifeline tied
        wait_until(lambda: "sleep" in Path(f"/proc/{child}/cmdline").read_text().split("\0")[0], seconds=10)
        os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not alive(child), seconds=5)


def test_a_child_of_a_dead_parent_does_not_start() -> None:
    script = (
        "import os; os.environ['GANBOARD_PARENT_PID'] = '1'; from worker.lifeline import die_with_named_parent; die_with_named_parent()"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 128 + signal.SIGKILL
