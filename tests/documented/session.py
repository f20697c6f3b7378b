"""One after another, as in a terminal: the commands of a block in processes of their own, with the
servers among them running until the end."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from ganboard.db import heartbeats
from ganboard.worker.context import open_context
from tests.documented import table
from tests.documented.execution import fitting, real
from tests.documented.home import Prepared
from tests.documented.shell import Call
from tests.polling import wait_until
from tests.up import free_port

BIN = Path(sys.executable).parent
MINUTES = 10
WEB = [sys.executable, "-m", "ganboard.app.web.serve"]


class Session:
    """Ends all servers when it is left."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._servers = ExitStack()
        self._addresses: dict[str, str] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.close()

    def run(self, call: Call) -> None:
        """Execute it, or start it if it is a server; it must succeed."""
        words = real(call.words, self._prepared.words)
        if rule := fitting(table.SERVERS, call.words):
            self._start(words, call.variables, table.SERVERS[rule])
            return
        if words[0] == "curl":
            words = [self._addressed(word) for word in words] + ["--fail", "--silent"]
        done = subprocess.run(
            [program(words[0]), *words[1:]],
            env={**os.environ, **call.variables},
            input=call.given,
            capture_output=True,
            text=True,
            timeout=60 * MINUTES,
        )
        allowed = table.CODES.get(fitting(table.CODES, call.words) or "", (0,))
        said = f"{shlex.join(words)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode in allowed, said
        assert "Traceback" not in done.stderr, said
        if call.output:
            call.output.write_text(done.stdout)

    def _addressed(self, word: str) -> str:
        """With the ports that the servers have here; the dashboard is started when it is asked."""
        found = re.match(r"localhost:(8501|8600)", word)
        if not found:
            return word
        if found[1] == "8501" and "8501" not in self._addresses:
            self._start([*WEB, "--port", "PORT"], {}, table.Server("8501"))
        return word.replace(found[0], self._addresses[found[1]])

    def _start(
        self, words: Sequence[str], variables: Mapping[str, str], server: table.Server
    ) -> None:
        port = free_port()
        words = [*words, *(word.replace("PORT", str(port)) for word in server.plus)]
        log = self._prepared.folder / f"server-{port}.log"
        command = [program(words[0]), *(word.replace("PORT", str(port)) for word in words[1:])]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env={**os.environ, **variables}, stdout=output, stderr=output
            )
        self._servers.callback(_end, process, log)
        self._addresses[server.port] = f"127.0.0.1:{port}"

        context = open_context()

        def ready() -> bool:
            assert process.poll() is None, f"{shlex.join(words)}\n{log.read_text()}"
            if server.heartbeat:
                return bool(heartbeats._of_kind(context.engine, server.heartbeat))
            return server.ready in log.read_text() if server.ready else _answers(port)

        wait_until(ready, seconds=60, what=f"{shlex.join(words)} to be ready")


def program(name: str) -> str:
    return str(BIN / name) if (BIN / name).exists() else name


def _answers(port: int) -> bool:
    command = ["curl", "--silent", "--output", os.devnull, f"127.0.0.1:{port}"]
    return subprocess.run(command).returncode == 0


def _end(process: subprocess.Popen[bytes], log: Path) -> None:
    process.send_signal(signal.SIGINT)
    try:
        ended = process.wait(60)
    finally:
        process.kill()
    assert ended in (0, 130, -signal.SIGINT), f"{ended}\n{log.read_text()}"
