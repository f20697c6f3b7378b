"""A trainer that the kernel ends for want of memory: the page says so with numbers, and it is not
tried for ever."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import submit

LIMIT = 1200 << 20  # bytes: more than the training is estimated to need, or it would be refused
HUNGRY = (
    "import runpy; more = b'x' * (1000 << 20); runpy.run_module('ganboard.worker.training.trainer',"
    " run_name='__main__')"
)
WAITS = """
import sys
from pathlib import Path
Path(sys.argv[1]).write_text("0")  # this process and its children, as in a container
from ganboard.worker.queue import job, trainers
from ganboard.worker.context import open_context
from ganboard.worker.terminal.run_view import View
trainers.TRAINER = (sys.executable, "-c", sys.argv[3])
job.train_here(open_context(), sys.argv[2], View())
"""


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with LIMIT, as a container has; skips where none may be made."""
    made = None
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        second = number == "0" and Path("/sys/fs/cgroup/cgroup.controllers").exists()
        if second or "memory" in controllers.split(","):
            top = "/sys/fs/cgroup" if second else "/sys/fs/cgroup/memory"
            made = Path(top + path) / f"ganboard-test-{os.getpid()}"
            file = "memory.max" if second else "memory.limit_in_bytes"
    try:
        assert made is not None
        made.mkdir()
        (made / file).write_text(str(LIMIT))
    except (OSError, AssertionError):
        pytest.skip("no control group with a limit of memory may be made here")
    yield made / "cgroup.procs"
    made.rmdir()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_that_runs_out_is_named_and_tried_three_times(context: Context, group: Path) -> None:
    run = submit(context, load("tiny"), here=True)
    subprocess.run(
        [sys.executable, "-c", WAITS, str(group), run.id, HUNGRY], check=True, timeout=600
    )
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    assert (found.status, found.attempt) == ("failed", 3), found.error
    assert found.error is not None
    assert re.match(
        r"The trainer was killed because memory ran out \(it used 1\.\d of 1\.2 GiB\)\. Clone"
        r" the run with a smaller batch_size",
        found.error,
    )
    assert "batch_size; 3 times in a row" in found.error
