"""The table of a bundle's metrics that a script logged."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

import numpy as np

from ganboard.db.models import LoggedValues
from ganboard.db.runs.external import BLOCK, MAX_METRICS, MAX_NAME, MAX_STEP
from ganboard.worker.interchange.bundle import BadBundle, Content
from ganboard.worker.interchange.schema import RunDocument

MAX_TABLE = 512 << 20
COLUMNS = ["name", "step", "time", "value"]


def logged_rows(document: RunDocument, content: Content) -> Iterator[LoggedValues]:
    """The values of every metric in blocks, as `db.runs.external` stores them. Raises BadBundle."""
    refused = f"{content.path} is refused: logged.csv"
    if "logged.csv" not in content.digests:
        raise BadBundle(f"{refused} is missing. Export it again.")
    text = io.TextIOWrapper(
        io.BytesIO(content.read("logged.csv", MAX_TABLE)), encoding="utf-8", newline=""
    )
    blocks: dict[tuple[str, int], dict[int, tuple[float, float]]] = {}
    try:
        reader = csv.reader(text)
        if next(reader, []) != COLUMNS:
            raise BadBundle(f"{refused} does not have the columns {', '.join(COLUMNS)}.")
        for name, step, time, value in reader:
            at, when = int(step), float(time)
            if not (0 < len(name) <= MAX_NAME and 0 <= at <= MAX_STEP and math.isfinite(when)):
                raise ValueError(step)
            blocks.setdefault((name, at // BLOCK), {})[at] = (when, float(value))
    except (ValueError, csv.Error, UnicodeDecodeError) as error:
        raise BadBundle(
            f"{refused} cannot be read ({type(error).__name__}). Export it again."
        ) from None
    if len({name for name, _ in blocks}) > MAX_METRICS:
        raise BadBundle(f"{refused} has more than {MAX_METRICS} metrics.")
    for (name, block), points in blocks.items():
        steps = sorted(points)
        times, values = zip(*(points[step] for step in steps), strict=True)
        yield LoggedValues(
            run_id=document.id,
            name=name,
            block=block,
            steps=np.array(steps, np.float64),
            times=np.array(times),
            values=np.array(values),
        )
