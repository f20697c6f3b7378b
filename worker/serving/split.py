"""Which version answers a request, and when the second one gets no more: a canary and its
rollback."""

from __future__ import annotations

import hashlib
import statistics
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["ok", "error", "not finite"]

LEAST = 20  # answers of each version before rates and medians are compared
KEPT = 200  # newest answers of each that are compared
MORE_ERRORS = 0.05  # share of the canary's answers beyond that of the main version's
SLOWER, SECONDS = 1.5, 0.01  # median latency: factor of the main version's, and seconds added to it


@dataclass
class Record:
    """The newest answers of one version."""

    outcomes: deque[Outcome] = field(default_factory=lambda: deque(maxlen=KEPT))
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))

    def share(self, *kinds: Outcome) -> float:
        return sum(one in kinds for one in self.outcomes) / max(1, len(self.outcomes))


class Split:
    """`share` (0 to 1) of the requests go to the canary, by a hash of their id: the same id always
    meets the same version."""

    def __init__(self, share: float) -> None:
        self._share = share
        self.main, self.canary = Record(), Record()
        self.reason: str | None = None  # why the canary gets no more requests

    @property
    def share(self) -> float:
        """What the canary gets now."""
        return 0.0 if self.reason else self._share

    def takes(self, request_id: str) -> bool:
        """Whether the canary answers this request."""
        return int.from_bytes(hashlib.sha256(request_id.encode()).digest()[:8]) < self.share * 2**64

    def note(self, canary: bool, outcome: Outcome, seconds: float) -> str | None:
        """Remember an answer; why the canary is rolled back, if it is by this one."""
        record = self.canary if canary else self.main
        record.outcomes.append(outcome)
        if outcome == "ok":
            record.seconds.append(seconds)
        if self.reason is None and self._share:
            self.reason = self._verdict()
            return self.reason
        return None

    def _verdict(self) -> str | None:
        main, canary = self.main, self.canary
        if canary.share("not finite") > main.share("not finite"):
            return "its outputs are not finite"
        if len(canary.outcomes) < LEAST:
            return None
        errors = [one.share("error", "not finite") for one in (canary, main)]
        if errors[0] > errors[1] + MORE_ERRORS:
            return (
                f"{errors[0]:.0%} of its requests failed, compared with {errors[1]:.0%} for the"
                " main version"
            )
        if min(len(one.seconds) for one in (main, canary)) >= LEAST:
            slow, usual = (statistics.median(one.seconds) for one in (canary, main))
            if slow > SLOWER * usual + SECONDS:
                return (
                    f"its median latency is {1000 * slow:.0f} ms, compared with {1000 * usual:.0f}"
                    " ms for the main version"
                )
        return None
