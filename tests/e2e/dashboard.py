"""One dashboard for many tests: it reads its settings anew for every request, so a test hands it
the environment of its own home instead of starting a server.

    python -m tests.e2e.dashboard --port 8501

Each line on standard input is a JSON object with all GANBOARD_ variables; a line on standard output
confirms it. The server ends with its input.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ganboard.app.web import serve
from ganboard.db.settings import PREFIX
from tests.polling import wait_until

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Dashboard:
    """A running server."""

    url: str
    process: subprocess.Popen[str]

    def adopt_environment(self) -> None:
        """Serve what this process's GANBOARD_ variables name, a home above all."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(_variables()) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline(), "the web server has ended"


@contextmanager
def dashboard(log: Path, variables: Mapping[str, str], port: int) -> Iterator[Dashboard]:
    """A server on this port with these GANBOARD_ variables alone; what it prints is in `log`."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "tests.e2e.dashboard", "--port", str(port)]
    with (
        log.open("wb") as output,  # a pipe that nobody reads would block the server
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**others, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
        ) as process,
    ):
        try:
            wait_until(
                lambda: process.poll() is not None or _healthy(url),
                seconds=120,
                every=0.1,
                what="the web server",
            )
            assert process.poll() is None, f"the web server ended: {log.read_text()}"
            yield Dashboard(url, process)
        finally:
            process.terminate()
            process.wait(20)


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}


def _adopt(confirmations: TextIO) -> None:
    for line in sys.stdin:
        given = json.loads(line)
        for name in _variables().keys() - given.keys():
            del os.environ[name]
        os.environ.update(given)
        print(file=confirmations, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    confirmations = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the server prints belongs into the log
    threading.Thread(target=_adopt, args=[confirmations], daemon=True).start()
    sys.argv[0] = serve.__file__  # beside it Streamlit finds its configuration
    serve.main()


if __name__ == "__main__":
    main()
