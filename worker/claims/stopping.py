"""Ending a claim early."""

from __future__ import annotations

from contextlib import suppress

from ganboard.db.claims import records
from ganboard.db.errors import NotAllowed
from ganboard.db.models import ENDED, StatedClaim
from ganboard.worker.context import Context
from ganboard.worker.submission import submit


def stop(context: Context, claim: StatedClaim) -> None:
    """End an open claim without a verdict and stop its runs. Raises NotAllowed if it has ended."""
    records.end(context.engine, claim.id, "stopped")
    for _, run in records.runs(context.engine, claim.id).values():
        if run is not None and run.status not in ENDED:
            with suppress(NotAllowed):  # it ended meanwhile
                submit.stop(context, run.id)
