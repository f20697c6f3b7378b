"""A trainer that the kernel ends for want of memory: the page says so with numbers, and it is not tried for ever."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from db import queries
from gan.presets import load
from worker import job
from worker.context import Context
from worker.progress import View
from worker.submit import submit

LIMIT = 200 << 20  # bytes: TensorFlow alone needs more
ENTERS = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


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


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_that_runs_out_is_named_and_tried_three_times(context: Context, group: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "TRAINER", (sys.executable, "-c", ENTERS, str(group), "-m", "worker.trainer"))
    run = submit(context, load("tiny"), here=True)
    job.train_here(context, run.id, View())
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    assert (found.status, found.attempt) == ("failed", 3)
    assert found.error is not None
    assert re.match(r"The trainer was killed because memory ran out \(it had \d+\.\d of \d+\.\d GiB\): lower batch_size, ", found.error)
    assert "then clone the run; 3 times in a row" in found.error
