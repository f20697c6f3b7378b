"""`ganboard up` has an inference worker, brings it back when it dies, and takes it along."""

from __future__ import annotations

import psutil
import pytest

from ganboard.db import heartbeats
from ganboard.worker.context import Context
from tests.polling import wait_until
from tests.up import Up, ganboard_up


def inference_worker(up: Up) -> psutil.Process | None:
    # of a zombie there is no command line
    return next(
        (
            child
            for child in up.process.children()
            if "ganboard.worker.requests.inference_worker"
            in (child.as_dict(["cmdline"])["cmdline"] or [])
        ),
        None,
    )


def pids(context: Context) -> list[int]:
    return [state.worker.pid for state in heartbeats.inference_workers(context.engine)]


@pytest.mark.thorough
@pytest.mark.slow
def test_up_keeps_an_inference_worker(context: Context) -> None:
    with ganboard_up(context.settings.state, "--no-starter", "--workers", "0") as up:
        first = inference_worker(up)
        assert first is not None
        [state] = heartbeats.inference_workers(context.engine)
        assert (state.alive, state.worker.pid) == (True, first.pid)
        assert not heartbeats.workers(context.engine)
        first.kill()
        wait_until(
            lambda: (now := inference_worker(up)) and now.pid != first.pid,
            seconds=60,
            what="another one",
        )
        assert up.said("inference ended with code -9; restarting in 0.5 s")
        second = inference_worker(up)
        assert second is not None
        wait_until(lambda: second.pid in pids(context), seconds=60, what="its heartbeat")
    assert not second.is_running()
