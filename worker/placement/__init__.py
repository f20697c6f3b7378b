"""Which machines train which waiting runs."""

from ganboard.worker.placement.checkpoints import (
    absence,
    log_absence,
    may_start,
    newest_elsewhere,
    tend,
)
from ganboard.worker.placement.choice import next_run
from ganboard.worker.placement.claiming import claim
from ganboard.worker.placement.machines import has, labels, offer, terms

__all__ = [
    "absence",
    "claim",
    "has",
    "labels",
    "log_absence",
    "may_start",
    "newest_elsewhere",
    "next_run",
    "offer",
    "tend",
    "terms",
]
