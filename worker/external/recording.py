"""Stores what scripts send: the same for reports over HTTP, from a file, or of this machine."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from PIL import Image
from pydantic import BaseModel, ValidationError

from ganboard.db.models import Epoch, Grid, LoggedHistogram, SystemSample
from ganboard.db.runs import external, queries
from ganboard.worker.context import Context
from ganboard.worker.errors import WorkerError
from ganboard.worker.external.limits import MAX_LOG
from ganboard.worker.external.schema import LogPart, Report, Start, Values
from ganboard.worker.safe_files import no_link
from ganboard.worker.submission.naming import check_name

Sent = TypeVar("Sent", bound=BaseModel)
MAX_SIDE = 4096  # pixels of a grid


class BadReport(WorkerError):
    """A report that is refused; the message is one sentence."""


def create_run(context: Context, start: Start) -> None:
    """Store a run that has begun. Repeating it changes nothing. Raises BadName and NotAllowed."""
    external.create(
        context.engine,
        run_id=start.id,
        name=check_name(start.name),
        config=start.config,
        host=start.hardware.host or "an unknown machine",
        hardware=start.hardware.model_dump(exclude_unset=True),
        steps_per_epoch=start.steps_per_epoch,
        began_at=start.at,
    )


def record(context: Context, run_id: str, report: Report) -> bool:
    """Store a report; True when the run should stop. Raises UnknownRun, NotAllowed and BadReport.

    Repeating it changes nothing, and reports that are missing before it are noted on the run.
    """
    for grid in report.grids:
        _check_png(grid.png)
    if not external.expects(context.engine, run_id=run_id, number=report.number):
        run = queries.get_run(context.engine, run_id)
        return run is not None and run.stop_requested_at is not None
    if report.log is not None:
        _write_log(context, run_id, report.log)
    ended = report.end
    return external.add_report(
        context.engine,
        run_id=run_id,
        number=report.number,
        seconds=report.seconds,
        steps_per_epoch=report.steps_per_epoch,
        logged={name: _logged(values) for name, values in report.logged.items()},
        rows=list(_rows(run_id, report)),
        happenings=[external.Happening(one.at, one.level, one.text) for one in report.events],
        end=None if ended is None else external.End(ended.status, ended.error, ended.at),
    )


def sentence(error: ValidationError) -> str:
    """The first mistake of something that was sent."""
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))[:80] or "the document"
    return f"{where} is {repr(first['input'])[:60]}: {first['msg'].rstrip('.')}."


def parse(kind: type[Sent], text: bytes | str) -> Sent:
    """What was sent as JSON. Raises BadReport."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise BadReport(sentence(error)) from None


def _logged(values: Values) -> external.Logged:
    return external.Logged(
        np.array(values.steps, np.float64), np.array(values.times), np.array(values.values)
    )


def _rows(run_id: str, report: Report) -> Iterator[Epoch | Grid | LoggedHistogram | SystemSample]:
    own: dict[str, Any] = {"run_id": run_id, "attempt": external.ATTEMPT}
    for epoch in report.epochs:
        plain = epoch.model_dump(exclude={"at"})
        nan = float("nan")
        yield Epoch(
            **own,
            **plain,
            finished_at=epoch.at,
            compile_seconds=0.0,
            g_x=nan,
            g_y=nan,
            d_x=nan,
            d_y=nan,
        )
    for grid in report.grids:
        plain = grid.model_dump(include={"epoch", "rows", "columns"})
        yield Grid(
            **own, **plain, png=grid.png, made_at=grid.at
        )  # dumped, it would be base64 again
    for spread in report.histograms:
        arrays: dict[str, Any] = {
            "edges": np.array(spread.edges),
            "counts": np.array(spread.counts),
        }
        plain = spread.model_dump(include={"name", "step", "time"})
        yield LoggedHistogram(run_id=run_id, **plain, **arrays)
    for sample in report.samples:
        yield SystemSample(**own, **sample.model_dump())


def _write_log(context: Context, run_id: str, part: LogPart) -> None:
    """Write text at its place, so that a repeated part changes nothing, up to MAX_LOG."""
    text = part.text.encode(errors="replace")
    if part.offset + len(text) > MAX_LOG:
        raise BadReport(f"The log of run {run_id} exceeds {MAX_LOG:,} bytes.")
    path = context.settings.log_path(run_id)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT
    with open(path, "wb", opener=lambda name, _: no_link(name, flags)) as file:
        end = file.seek(0, os.SEEK_END)
        if part.offset > end:  # an earlier part is lost
            text = b"[...]\n".rjust(part.offset - end, b" ")[: part.offset - end] + text
            file.seek(end)
        else:
            file.seek(part.offset)
        file.write(text)


def _check_png(data: bytes) -> None:
    """Decode it whole, so that no page receives an invalid picture."""
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            width, height = image.size
            if max(width, height) <= MAX_SIDE:
                image.load()
                return
    except Exception as error:  # parsers of third-party formats raise many undocumented exceptions
        raise BadReport(f"A grid is not a readable PNG ({type(error).__name__}).") from None
    raise BadReport(f"A grid has {width}x{height} pixels; the limit is {MAX_SIDE} per side.")
