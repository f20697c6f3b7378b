"""A child process that is meant to run for ever: started, announced, restarted when it dies or
hangs, ended."""

from __future__ import annotations

import http.client
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from ganboard.worker import logs
from ganboard.worker.process.parent_death import environment_for_child

LONGEST_PAUSE_SECONDS = 10.0
HEALTHY_SECONDS = 30.0  # a child that lived this long restarts without a pause
PROBE_SECONDS = 5.0  # from one probe to the next, and for its answer
FAILED_PROBES = 6  # in a row: a service that answered hangs
FAILED_PROBES_AT_START = 60  # before the first answer; a busy machine may take minutes to start one


@dataclass(frozen=True)
class Health:
    """Where a service answers GET with status 200 while it does not hang."""

    host: str
    port: int
    path: str

    def answers(self, seconds: float) -> bool:
        """Whether it does so now, with at most this time for each part of the answer. No proxy is
        asked."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        try:
            # served on whatever address
            connection.request("GET", self.path, headers={"Host": "localhost"})
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class Probe(threading.Thread):
    """Asks for the health of one process until `end`: in a thread, since one that hangs makes
    whoever asks wait.

    Failed probes are counted, not seconds: a supervisor that was stopped for a while has learned
    nothing meanwhile.
    """

    def __init__(self, health: Health, every: float) -> None:
        super().__init__(name=f"probe of port {health.port}", daemon=True)
        self._health = health
        self._every = every
        self._ending = threading.Event()
        self.answered = False  # ever
        self.failures = 0  # since the last answer

    @property
    def hangs(self) -> bool:
        return self.failures >= (FAILED_PROBES if self.answered else FAILED_PROBES_AT_START)

    @property
    def silence(self) -> str:
        """How long no answer has come, in words."""
        return f"{self.failures * self._every:.0f} s"

    def run(self) -> None:
        while not self._ending.is_set():
            began = time.monotonic()
            if self._health.answers(self._every):
                self.answered = True
                self.failures = 0
            else:
                self.failures += 1
            self._ending.wait(max(0.0, began + self._every - time.monotonic()))

    def end(self) -> None:
        self._ending.set()


@dataclass
class Service:
    """The process, and what is known of it."""

    name: str
    command: list[str]
    log: Path | None  # None: this process's own standard output
    ready: Callable[[], str | None]  # what to print once it answers, None before
    health: Health | None = None  # one that stops to answer here is killed and restarted
    probe_seconds: float = PROBE_SECONDS
    # what to do when it died before it answered, and what to say of that
    mend: Callable[[], str] | None = None
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    restarts: int = 0
    retry_at: float = 0.0
    announced: bool = field(default=False)
    probe: Probe | None = None

    def start(self) -> None:
        if self.log is None:
            self._start(None, {})
        else:
            # for programs that do not see to it themselves
            if self.log.exists() and self.log.stat().st_size >= logs.MAX_BYTES:
                logs.rotate(self.log)
            with self.log.open("ab") as log:
                self._start(log.fileno(), {logs.FILE: str(self.log)})
        self.started = time.monotonic()
        self.announced = False
        if self.health:
            self._end_probe()
            self.probe = Probe(self.health, self.probe_seconds)
            self.probe.start()

    def _start(self, output: int | None, environment: dict[str, str]) -> None:
        # own session: Ctrl-C in the terminal must only reach the supervisor
        self.process = subprocess.Popen(
            self.command,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment_for_child(**environment),
            start_new_session=True,
        )

    def ended(self) -> str | None:
        """How the process ended, None while it lives. One that hangs is killed."""
        assert self.process is not None
        code = self.process.poll()
        hangs = self.probe is not None and self.probe.hangs
        if code is None:
            if hangs:
                self.process.kill()  # SIGTERM would wait as long as everything else
            return None
        if hangs and code == -signal.SIGKILL:
            assert self.probe is not None
            return f"did not respond for {self.probe.silence} and was killed"
        return f"ended with code {code}"

    def tend(self, say: Callable[[str], None]) -> None:
        """Announce readiness once; restart after a death, more slowly each time it dies young."""
        if self.retry_at:
            if time.monotonic() >= self.retry_at:
                self.retry_at = 0.0
                self.start()
        elif reason := self.ended():
            young = time.monotonic() - self.started < HEALTHY_SECONDS
            self.restarts = self.restarts + 1 if young else 1
            pause = min(LONGEST_PAUSE_SECONDS, 0.5 * 2 ** (self.restarts - 1))
            self.retry_at = time.monotonic() + pause
            say(f"  {self.name:<9} {reason}; restarting in {pause:.1f} s (log: {self.log})")
            if self.mend and not self.announced:
                say(f"  {self.name:<9} {self.mend()}")
        elif not self.announced and (words := self.ready()):
            self.announced = True
            say(f"  {self.name:<9} ready    {words}")

    def end(self, seconds: float) -> None:
        self._end_probe()
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _end_probe(self) -> None:
        if self.probe:
            self.probe.end()


def end_on_signal() -> Callable[[], bool]:
    """Whether SIGINT, SIGTERM or SIGHUP has come since this call."""
    ending = False

    def on_signal(signum: int, frame: FrameType | None) -> None:
        nonlocal ending
        ending = True

    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, on_signal)
    return lambda: ending


def say(words: str) -> None:
    # the supervisor writes to its terminal
    print(logs.line(words.strip()) if logs.as_json() else words, flush=True)  # noqa: T201
