"""What a script recorded into a file while nobody could be reached, read in afterwards.

Each line is complete or it is not: what a crash or a full disk has cut off is left out, and said.
Reading the same file again, or one that goes on, adds what is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ganboard.db.models import Run
from ganboard.db.runs import external, queries
from ganboard.worker.context import Context
from ganboard.worker.external import recording
from ganboard.worker.external.limits import MAX_BODY
from ganboard.worker.external.recording import BadReport
from ganboard.worker.external.schema import Line, Report

FIRST = b'{"start":'
UNENDED = "The recording has no end: the process died, or the file was copied before it."


@dataclass(frozen=True)
class Imported:
    """A run as it is now, the number of new reports, and what was not readable, as a sentence."""

    run: Run
    reports: int
    problem: str | None


def is_recording(path: Path) -> bool:
    """Whether a file begins as a recording does."""
    try:
        with path.open("rb") as file:
            return file.read(len(FIRST)) == FIRST
    except OSError:
        return False


def read_in(context: Context, path: Path) -> Imported:
    """Store what a recording holds. Raises BadReport, BadName and NotAllowed, in one sentence,
    before anything is stored."""
    lines = _lines(path)
    first = next(lines, None)
    if not isinstance(first, Line) or first.start is None:
        raise BadReport(f"{path} is refused: its first line is not the start of a run.")
    recording.create_run(context, first.start)
    run_id, problem, new, end = first.start.id, None, 0, first.start.at
    present = queries.get_run(context.engine, run_id)
    known = present.reports if present is not None else 0
    ended = False
    for line in lines:
        if isinstance(line, str):
            problem = line
            break
        report = line.report
        if report is None:
            problem = f"{path} has a line without a report: what follows is left out."
            break
        if report.number > known:
            recording.record(context, run_id, report)
            new += 1
        end, ended = max(end, _newest(report)), report.end is not None
    if not ended:
        error = problem or UNENDED
        external.close(context.engine, run_id=run_id, end=external.End("failed", error, end))
    run = queries.get_run(context.engine, run_id)
    assert run is not None
    return Imported(run, new, problem)


def _lines(path: Path) -> Iterator[Line | str]:
    """The lines, and in place of one that cannot be read, and all that follow, a sentence."""
    with path.open("rb") as file:
        number = 0
        while text := file.readline(MAX_BODY):
            number += 1
            try:
                if not text.endswith(b"\n"):
                    raise BadReport("it is cut off.")
                yield recording.parse(Line, text)
            except BadReport as error:
                yield f"Line {number} of {path} and what follows is left out: {error}"
                return


def _newest(report: Report) -> datetime:
    times = [values.times[-1] for values in report.logged.values()]
    marks = [datetime.fromtimestamp(max(times), UTC)] if times else []
    marks += [sample.at for sample in report.samples]
    marks += [epoch.at for epoch in report.epochs]
    marks += [event.at for event in report.events]
    return max(marks, default=datetime.min.replace(tzinfo=UTC))
