"""A real `ganboard up`: embedded Redis, dashboard and one worker under their supervisor."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.polling import wait_until


@dataclass(frozen=True)
class Up:
    """The supervisor, the dashboard's address, and what the supervisor has printed."""

    process: psutil.Process
    url: str
    log: Path

    def said(self, words: str) -> bool:
        return words in self.log.read_text()


@contextmanager
def ganboard_up(home: Path, *options: str, code: int = 0) -> Iterator[Up]:
    """Start it, wait until it greets, and at the end have it end everything as Ctrl-C does, with
    exit code `code`."""
    port = free_port()
    home.mkdir(parents=True, exist_ok=True)
    log = home / "up.log"
    command = [str(Path(sys.executable).with_name("ganboard")), "up", "--port", str(port), *options]
    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        up = Up(psutil.Process(process.pid), f"http://127.0.0.1:{port}", log)
        try:
            wait_until(
                lambda: up.said("Open http") or process.poll() is not None,
                seconds=90,
                what="the greeting of ganboard up",
            )
            assert process.poll() is None, log.read_text()
            children = up.process.children(recursive=True)
            yield up
            children += up.process.children(recursive=True)
        finally:
            process.send_signal(signal.SIGINT)
            ended = process.wait(90)
    assert ended == code, log.read_text()
    assert not psutil.wait_procs(children, timeout=20)[1], "ganboard up left processes behind"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
