"""The hosts themselves: they reach each other by name, and what disturbs them does."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.network import network, reason
from tests.polling import wait_until

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(reason() is not None, reason=str(reason()))]

SERVE = """
import socket
server = socket.create_server(("", 7000))
while True:
    server.accept()[0].sendall(b"here")
"""
ASK = """
import socket, sys
try:
    print(socket.create_connection((sys.argv[1], 7000), timeout=2).recv(9).decode())
except OSError as error:
    print(type(error).__name__)
"""


def test_hosts_reach_each_other_until_they_are_cut_off_paused_or_killed(tmp_path: Path) -> None:
    with network(2) as two:
        one, other = two.hosts
        assert one.run(["hostname"]).strip() == "host1"
        serving = other.popen([sys.executable, "-c", SERVE])

        def answer() -> str:
            return one.run([sys.executable, "-c", ASK, "host2"]).strip()

        wait_until(lambda: answer() == "here", seconds=20)
        other.cut()
        assert answer() == "TimeoutError"
        other.mend()
        wait_until(lambda: answer() == "here", seconds=20)
        other.signal(signal.SIGSTOP)
        assert answer() == "TimeoutError"
        other.signal(signal.SIGCONT)
        assert answer() == "here"
        other.slow("tbf", "rate", "10mbit", "burst", "32k", "latency", "400ms")
        assert answer() == "here"
        other.normal()
        other.kill()
        assert serving.wait(10) == -signal.SIGKILL
        assert answer() in ("TimeoutError", "OSError")
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert one.namespace not in listed.stdout
