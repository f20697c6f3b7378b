"""Reports on their way: in order, again after a pause while nobody takes them, and into a file
meanwhile."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import orjson

from ganboard.worker.external.journal import Journal
from ganboard.worker.external.transports import Refused, Transport, Unreachable

MAX_WAITING = 64 << 20  # bytes of reports in memory
LONGEST_PAUSE = 10.0


class Delivery:
    """Sends reports through `transport`, None: only into `journal`. `warn` takes sentences for the
    person who runs the script.

    While reports wait they are in the journal too, so that nothing is lost if the process dies; it
    is removed once all are delivered.
    """

    def __init__(
        self,
        transport: Transport | None,
        journal: Journal,
        start: dict[str, Any],
        warn: Callable[[str], None],
        *,
        begun: bool,
    ) -> None:
        self._transport = transport
        self._journal = journal
        self._start = start
        self._warn = warn
        self._begun = begun
        self._waiting: deque[tuple[int, dict[str, Any]]] = deque()  # with their bytes
        self._bytes = 0
        self._away = transport is None
        self._tries = 0
        self._next_try = 0.0
        self._given_up = False  # nothing can be kept or sent any more
        self.stop = False

    @property
    def done(self) -> bool:
        return not self._waiting

    def add(self, report: dict[str, Any]) -> None:
        """Take a report; `deliver` sends it."""
        if self._given_up:
            return
        if self._away:
            self._keep(report)
        if self._transport is not None:
            size = len(orjson.dumps(report))
            self._waiting.append((size, report))
            self._bytes += size
            if self._bytes > MAX_WAITING:
                self._only_file(f"{self._transport.name} has been unreachable for long")

    def deliver(self, *, now: bool = False) -> None:
        """Send what waits, unless it is too early after a failure; `now` asks anyway."""
        if not self._waiting or (time.monotonic() < self._next_try and not now):
            return
        try:
            while self._waiting:
                self._send(self._waiting[0][1])
                self._bytes -= self._waiting.popleft()[0]
        except Unreachable as error:
            self._found_away(str(error))
        except Refused as error:
            self._only_file(str(error).rstrip("."))
        else:
            if self._away:
                self._warn("Reports are delivered again; nothing was lost.")
            self._away, self._tries = False, 0
            self._journal.remove()

    def leave(self) -> None:
        """The script ends: say where undelivered reports are."""
        if self._waiting and not self._given_up:
            if not self._away:
                self._found_away("the script ended before the last reports were stored")
            self._warn(
                f"{len(self._waiting)} reports were not delivered. Run `ganboard import"
                f" {self._journal.path}` to add them."
            )

    def _send(self, report: dict[str, Any]) -> None:
        assert self._transport is not None
        if not self._begun:
            self._transport.create_run(self._start)
            self._begun = True
        self.stop = self._transport.send(self._start["id"], report) or self.stop

    def _found_away(self, why: str) -> None:
        self._tries += 1
        pause = min(LONGEST_PAUSE, 0.5 * 2**self._tries) * random.uniform(0.5, 1.0)
        self._next_try = time.monotonic() + pause
        if self._away:
            return
        self._away = True
        for _, report in self._waiting:
            self._keep(report)
        self._warn(
            f"{why}. Training goes on; reports are kept in {self._journal.path} until it answers."
        )

    def _only_file(self, why: str) -> None:
        if not self._away:
            self._away = True
            for _, report in self._waiting:
                self._keep(report)
        self._transport = None
        self._waiting.clear()
        self._bytes = 0
        self._warn(f"{why}. All further reports go into {self._journal.path} only.")

    def _keep(self, report: dict[str, Any]) -> None:
        try:
            self._journal.add(report)
        except (OSError, ValueError) as error:
            self._given_up = self._transport is None
            self._warn(f"{self._journal.path} cannot be written ({error}).")
