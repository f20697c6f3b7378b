"""How `ganboard selftest` shows itself: a line for each claim on stdout, what it is doing on
stderr."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

from rich.console import Console
from rich.status import Status

from ganboard.worker.formatting import duration
from ganboard.worker.selftest.selftest import Result
from ganboard.worker.terminal.console import make_console


class Lines:
    """Shows results as they come, and meanwhile what is being trained and how long the rest may
    take."""

    def __init__(self, claims: int, *, quiet: bool) -> None:
        self._claims, self._quiet, self._done = claims, quiet, 0
        self._began = time.monotonic()
        self._status = Status(
            "", console=Console(stderr=True, markup=False, emoji=False, highlight=False)
        )

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._status.stop()

    def training(self, words: str) -> None:
        left = (
            (time.monotonic() - self._began) / self._done * (self._claims - self._done)
            if self._done
            else None
        )
        self._status.update(f"{words}{f' (about {duration(left)} left)' if left else ''}")

    def show(self, result: Result) -> None:
        self._done += 1
        if not self._quiet:
            mark, style = ("ok  ", "green") if result.holds else ("FAIL", "red")
            self._status.stop()
            console = make_console()
            console.print(mark, style=style, end="  ")
            console.print(describe(result))
            self._status.start()


def describe(result: Result) -> str:
    """One line: the claim, the measured difference and its bound, or why it could not be tried."""
    claim = result.claim
    if result.difference is None:
        return f"{claim.name}: {result.problem}"
    return (
        f"{claim.name}: largest difference {result.difference:.1e}, bound {claim.bound:.0e}"
        f" ({claim.reason})"
    )


def document(results: Sequence[Result]) -> dict[str, Any]:
    """For --json."""
    claims = [
        {
            "claim": result.claim.name,
            "holds": result.holds,
            "difference": result.difference,
            "bound": result.claim.bound,
            "reason": result.claim.reason,
            "problem": result.problem,
        }
        for result in results
    ]
    return {"ok": all(result.holds for result in results), "claims": claims}
