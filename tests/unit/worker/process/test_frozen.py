"""Noticing processes that are stopped."""

from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

from ganboard.worker.process import frozen
from tests.polling import wait_until


def test_a_process_below_that_stays_stopped_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen, "FROZEN_SECONDS", 0.1)
    parent = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE) as process:
        below = wait_until(psutil.Process(process.pid).children, seconds=20, what="a child")[0]
        watch = frozen.Frozen()
        assert not watch.too_long(process.pid)
        below.send_signal(signal.SIGSTOP)
        wait_until(lambda: watch.too_long(process.pid), seconds=20, what="the verdict")
        below.send_signal(signal.SIGCONT)
        wait_until(lambda: not watch.too_long(process.pid), seconds=20, what="the thaw")
        process.kill()
        below.kill()
    assert not watch.too_long(process.pid)
