"""How soon another worker takes over the run of one that was killed.

    python -m tests.crash.takeover [ROUNDS]

`ganboard up` with two workers and one long training; each round kills the worker that trains (kill
-9). Prints the seconds until another attempt has claimed the run, and until its next epoch is
stored: median, 99th percentile, longest.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial

import numpy as np
import psutil

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context, open_context
from ganboard.worker.submission.submit import submit
from tests.polling import wait_until
from tests.processes import below
from tests.up import Up, ganboard_up

SETTINGS = {
    "dataset": "digits",
    "limit": 256,
    "batch_size": 32,
    "grid_size": 2,
    "epochs": 100_000,
    "snapshots": 1,
}


def now(context: Context, run_id: str) -> Run:
    run = queries.get_run(context.engine, run_id)
    assert run is not None
    assert run.status in ("queued", "starting", "running", "suspended"), run.error
    return run


def training(up: Up) -> psutil.Process | None:
    """The worker below which a trainer is."""
    return next(
        (
            worker
            for worker in below(up.process, "ganboard.worker.queue.rq_worker")
            if below(worker, "ganboard.worker.training.trainer")
        ),
        None,
    )


def main(rounds: int = 20) -> None:
    taken: dict[str, list[float]] = {"claimed": [], "next epoch": []}
    with tempfile.TemporaryDirectory() as name:
        os.environ["GANBOARD_HOME"] = name
        context = open_context()
        with ganboard_up(context.settings.state, "--no-starter", "--workers", "2") as up:
            run_id = submit(context, load("tiny", SETTINGS)).id
            wait_until(lambda: now(context, run_id).epoch > 2, seconds=120, what="the first epochs")
            for number in range(1, rounds + 1):
                victim, before = (
                    wait_until(partial(training, up), seconds=60, what="a worker that trains"),
                    now(context, run_id),
                )
                victim.kill()
                struck = time.monotonic()
                wait_until(
                    lambda before=before: now(context, run_id).attempt > before.attempt,
                    seconds=120,
                    what="another attempt",
                )  # type: ignore[misc]
                taken["claimed"].append(time.monotonic() - struck)
                wait_until(
                    lambda before=before: now(context, run_id).epoch > before.epoch + 1,
                    seconds=120,
                    what="another epoch",
                )  # type: ignore[misc]
                taken["next epoch"].append(time.monotonic() - struck)
                print(
                    f"{number}: "
                    + ", ".join(
                        f"{what} after {seconds[-1]:.1f} s" for what, seconds in taken.items()
                    ),
                    flush=True,
                )
                time.sleep(5)  # the killed worker's successor is there again
        context.engine.dispose()
    for what, seconds in taken.items():
        print(
            f"{what}: p50 {np.median(seconds):.1f} s, p99 {np.percentile(seconds, 99):.1f} s,"
            f" longest {max(seconds):.1f} s"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
