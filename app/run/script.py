"""What a run is doing that a script trains, in words."""

from __future__ import annotations

from datetime import datetime

from ganboard.db.curves import logged
from ganboard.db.models import ACTIVE, Run
from ganboard.worker import formatting
from ganboard.worker.context import Context

TILES = 5


def activity(run: Run, now: datetime) -> str:
    """One sentence; `now` is the database's time."""
    if run.status not in ACTIVE:
        return {"finished": "The script has finished.", "failed": "Ended with an error."}.get(
            run.status, formatting.STATUS[run.shown_status].meaning
        )
    if run.lease_until is not None and run.lease_until < now:
        silent = formatting.duration((now - run.lease_until).total_seconds())
        return f"No report for {silent}; the script has ended, or its connection is lost."
    asked = "; it was asked to stop" if run.stop_requested_at is not None else ""
    return f"A script trains this run: step {run.step:,}{asked}."


def progress(run: Run) -> str:
    """How far a script is that does not say how far it will go."""
    finished = formatting.plural(run.epoch, "finished epoch")
    return f"{finished} · step {run.step:,} · the script does not say how many are planned"


def newest(context: Context, run: Run) -> list[tuple[str, str, str]]:
    """Label, value and explanation of the first metrics in alphabetical order."""
    found = list(logged.latest(context.engine, run.id).items())[:TILES]
    about = "As the script logged it last."
    return [(name, formatting.decimal(value), about) for name, value in found]


def planned_epochs(run: Run) -> int:
    """Its setting `epochs`, 0 where that is no number."""
    planned = run.config.get("epochs")
    return planned if type(planned) is int and planned > 0 else 0
