"""The real web server over the state directory that the environment names."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import psutil

from ganboard.worker.supervisor.web import COMMAND
from tests.polling import wait_until
from tests.up import free_port

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Web:
    """A running server: its address and its process."""

    url: str
    process: psutil.Process

    def resident(self) -> int:
        """Bytes of memory that it holds."""
        return int(self.process.memory_info().rss)

    def processor(self) -> float:
        """Seconds of processor time that it has used."""
        used = self.process.cpu_times()
        return float(used.user + used.system)


@contextmanager
def web_server(log: Path) -> Iterator[Web]:
    """Start it, wait until it answers, and end it; what it prints goes into `log`."""
    url = f"http://127.0.0.1:{free_port()}"
    command = [*COMMAND, "--port", url.rpartition(":")[2]]
    with (
        log.open("wb") as output,
        subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            wait_until(
                lambda: process.poll() is not None or _answers(url),
                seconds=60,
                every=0.2,
                what="the web server",
            )
            assert process.poll() is None, f"the web server ended: {log.read_text()}"
            yield Web(url, psutil.Process(process.pid))
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False
