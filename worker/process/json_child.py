"""A child process that answers with one JSON line on stdout: what needs TensorFlow, asked from a
process that must not load it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from ganboard.worker.errors import ServiceFailed
from ganboard.worker.process.parent_death import environment_for_child

_POLL_SECONDS = 0.2
_REASON = 300  # characters
# what TensorFlow's libraries log last is seldom the reason
_NOISE = ("I0000", "W0000", "E0000", "WARNING", "Note:")


class TimeLimit(ServiceFailed):
    """The process did not answer in time and was ended."""


class Ended(NamedTuple):
    """How a process ended, and what it wrote."""

    code: int
    said: str
    log: str

    @property
    def reason(self) -> str:
        """Why it failed, in its own last words."""
        if self.code < 0:
            return f"it was ended by {signal.Signals(-self.code).name}"
        lines = [line.strip() for line in self.log.splitlines() if line.strip()]
        clear = [line for line in lines if not line.startswith(_NOISE)] or lines
        return clear[-1][:_REASON] if clear else f"it ended with exit code {self.code}"


def ask(
    arguments: Sequence[str],
    seconds: float,
    *,
    waiting: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """The document that `python ARGUMENTS...` prints last. Raises TimeLimit as `run` does, and
    ServiceFailed with its last line when it fails, or when there is no document."""
    ended = run(arguments, seconds, waiting=waiting, environment=environment)
    if ended.code:
        raise ServiceFailed(ended.reason)
    return _document(ended.said.strip())


def run(
    arguments: Sequence[str],
    seconds: float,
    *,
    waiting: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Ended:
    """Run `python ARGUMENTS...` in a process group of its own, which ends with it and with us;
    `waiting` is called while it works. Raises TimeLimit after `seconds`."""
    tied = [sys.executable, "-m", "ganboard.worker.process.exec_tied", sys.executable]
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [*tied, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=log,
            text=True,
            env=environment_for_child(TF_FORCE_GPU_ALLOW_GROWTH="true", **environment),
            start_new_session=True,
        )
        try:
            while process.poll() is None and time.monotonic() < deadline:
                waiting()
                time.sleep(_POLL_SECONDS)
            late = process.poll() is None
        finally:
            _end(process)
        if late:
            raise TimeLimit(f"it did not end within {seconds:.0f} s")
        output.seek(0)
        log.seek(0)
        return Ended(process.returncode, output.read(), log.read())


def _document(said: str) -> dict[str, Any]:
    for text in (said, said.rpartition("\n")[2]):
        try:
            found = json.loads(text)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    raise ServiceFailed("it ended without an answer")


def _end(process: subprocess.Popen[str]) -> None:
    """End the whole group: a benchmark has processes of its own."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
