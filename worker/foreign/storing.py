"""Runs that another program recorded, stored as runs that a script trained: scalars, histograms,
images, settings and texts, with the times at which they were recorded."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from PIL import Image

from ganboard.db.models import Event, Grid, LoggedHistogram, LoggedValues, Run
from ganboard.db.runs import external, imports
from ganboard.db.runs.external import BLOCK, MAX_METRICS, MAX_NAME, MAX_STEP
from ganboard.gan.events import REAL_IMAGES
from ganboard.worker.context import Context
from ganboard.worker.external.images import sheet
from ganboard.worker.external.limits import MAX_SETTINGS, MAX_TEXT
from ganboard.worker.foreign.record import Record
from ganboard.worker.formatting import clean, plural
from ganboard.worker.submission.naming import NAME_LENGTH
from ganboard.worker.tensorboard.board import EPOCH, LOSSES, REAL

MAX_GRIDS = 2000  # of one run
HISTOGRAMS = 500  # of one name; of more, some at equal distances are kept
MAX_SIDE = 4096  # pixels of a picture
FORMATS = ("PNG", "JPEG", "GIF")


@dataclass(frozen=True)
class Imported:
    """A run that was stored, and what was left out of it, as sentences."""

    run: Run
    problems: list[str]


def store(context: Context, name: str, source: str, held: Record) -> Imported:
    """Store a run, all of it or nothing; `source` says where it comes from. Raises NotAllowed when
    it was imported before."""
    problems = list(held.problems)
    run = _run(name, held)
    rows = list(_rows(run, held, problems))
    last = datetime.fromtimestamp(held.last, UTC)
    warnings = [
        Event(run_id=run.id, attempt=1, at=last, level="warning", text=one[:MAX_TEXT])
        for one in problems
    ]
    text = f"Imported from {source}."
    return Imported(imports.insert(context.engine, run, [*rows, *warnings], [], text), problems)


def _run(name: str, held: Record) -> Run:
    began, ended = (datetime.fromtimestamp(at, UTC) for at in (held.first, held.last))
    epochs = _epochs(held)
    losses = [held.scalars.get(name, {}) for name in LOSSES]
    last = [points[max(points)][1] if points else None for points in losses]
    config = {
        clean(key)[:MAX_NAME]: value for key, value in sorted(held.settings.items())[:MAX_SETTINGS]
    }
    title = str(config.pop("name", "")) or name
    steps = [max(points) for points in held.scalars.values() if points]
    return Run(
        id=_id(held),
        name=clean(title)[-NAME_LENGTH:].strip() or "imported",
        status=held.status,
        external=True,
        attempt=external.ATTEMPT,
        config=config,
        hardware={"host": clean(held.host)[:80]} if held.host else None,
        facts={imports.IMPORTED: datetime.now(UTC).isoformat(timespec="seconds")},
        steps_per_epoch=epochs.steps_per_epoch,
        step=min(max(steps, default=0), MAX_STEP),
        epoch=epochs.last,
        seconds=held.last - held.first,
        created_at=began,
        queued_at=began,
        started_at=began,
        ended_at=ended,
        g_loss=last[0],
        d_loss=last[1],
    )


def _id(held: Record) -> str:
    """The same for the same run, so that it is not imported twice."""
    digest = hashlib.sha256(held.identity).hexdigest()
    return digest[:10]


@dataclass(frozen=True)
class _Epochs:
    """What the scalar `epoch` says, which ganboard and PyTorch Lightning write; without it each
    step counts as one, so that images of all steps are kept apart."""

    steps: list[int]
    numbers: list[int]
    steps_per_epoch: int | None

    @property
    def last(self) -> int:
        return self.numbers[-1] if self.numbers else 0

    def at(self, step: int) -> int:
        if not self.numbers:
            return min(step, 10_000_000)
        place = int(np.searchsorted(self.steps, step, side="right")) - 1
        return self.numbers[place] if place >= 0 else 0


def _epochs(held: Record) -> _Epochs:
    points = held.scalars.get(EPOCH, {})
    steps = [step for step, (_, number) in sorted(points.items()) if _is_epoch(number)]
    numbers = [int(points[step][1]) for step in steps]
    if numbers != sorted(numbers):
        return _Epochs([], [], None)
    sizes = {step / number for step, number in zip(steps, numbers, strict=True) if number}
    size = sizes.pop() if len(sizes) == 1 else 0.0
    return _Epochs(steps, numbers, int(size) if size >= 1 and size.is_integer() else None)


def _is_epoch(number: float) -> bool:
    return number.is_integer() and 0 <= number <= 10_000_000


def _rows(run: Run, held: Record, problems: list[str]) -> Iterator[Any]:
    for name in _kept(held.scalars, problems):
        yield from _values(run.id, name, held.scalars[name], problems)
    for name in _kept(held.histograms, problems):
        points = sorted(held.histograms[name].items())
        for step, (at, edges, counts) in points[:: math.ceil(len(points) / HISTOGRAMS)]:
            if step <= MAX_STEP:
                yield LoggedHistogram(
                    run_id=run.id, name=name, step=step, time=at, edges=edges, counts=counts
                )
    yield from _grids(run.id, held, problems)
    for tag, texts in held.texts.items():
        for step, (at, words) in sorted(texts.items()):
            yield Event(
                run_id=run.id,
                attempt=1,
                at=datetime.fromtimestamp(at, UTC),
                level="info",
                text=clean(f"{tag}, step {step:,}: {words}")[:MAX_TEXT],
            )


def _kept(tags: dict[str, Any], problems: list[str]) -> list[str]:
    """The tags that a run can have."""
    short = sorted(tag for tag in tags if 0 < len(tag) <= MAX_NAME)
    if (missing := len(tags) - len(short[:MAX_METRICS])) > 0:
        problems.append(
            f"{plural(missing, 'tag')} left out: a run has at most {MAX_METRICS}, with names of at"
            f" most {MAX_NAME} characters."
        )
    return short[:MAX_METRICS]


def _values(
    run_id: str, name: str, points: dict[int, tuple[float, float]], problems: list[str]
) -> Iterator[LoggedValues]:
    steps = np.array(sorted(step for step in points if step <= MAX_STEP), np.float64)
    if len(steps) < len(points):
        problems.append(f"{clean(name)} has steps above {MAX_STEP:,}: they are left out.")
    blocks = steps // BLOCK
    for block in np.unique(blocks):
        own = steps[blocks == block]
        times, values = zip(*(points[int(step)] for step in own), strict=True)
        yield LoggedValues(
            run_id=run_id,
            name=name,
            block=int(block),
            steps=own,
            times=np.array(times),
            values=np.array(values),
        )


def _grids(run_id: str, held: Record, problems: list[str]) -> Iterator[Grid]:
    """One grid for each epoch: the pictures of all tags at its last step side by side, and those of
    real images as such."""
    epochs = _epochs(held)
    by_epoch: dict[int, tuple[int, float, list[bytes]]] = {}
    for tag, points in sorted(held.images.items()):
        for step, (at, pictures) in sorted(points.items()):
            epoch = REAL_IMAGES if tag == REAL else epochs.at(step)
            known_step, _, known = by_epoch.get(epoch, (step, at, []))
            if step >= known_step:
                kept = known if step == known_step else []
                by_epoch[epoch] = (step, at, [*kept, *pictures])
    if len(by_epoch) > MAX_GRIDS:
        problems.append(f"Of {len(by_epoch):,} steps with images the last {MAX_GRIDS:,} are kept.")
    unreadable = 0
    for epoch, (_, at, pictures) in sorted(by_epoch.items())[-MAX_GRIDS:]:
        decoded = [one for one in map(_decoded, pictures) if one is not None]
        unreadable += len(pictures) - len(decoded)
        if decoded:
            whole = sheet(_equal(decoded))
            yield Grid(
                run_id=run_id,
                attempt=1,
                epoch=epoch,
                made_at=datetime.fromtimestamp(at, UTC),
                rows=whole.rows,
                columns=whole.columns,
                png=whole.png(),
            )
    if unreadable:
        problems.append(
            f"{plural(unreadable, 'image')} left out: not readable as {', '.join(FORMATS)}, or"
            f" larger than {MAX_SIDE:,} pixels."
        )


def _decoded(data: bytes) -> Any:
    """[H, W, 1 or 3] uint8, or None."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if max(image.size) > MAX_SIDE:
                return None
            grey = image.mode in ("1", "L", "I;16", "I", "F")
            pixels = np.asarray(image.convert("L" if grey else "RGB"))
            return pixels[..., np.newaxis] if grey else pixels
    except Exception:  # parsers of third-party formats raise many undocumented exceptions
        return None


def _equal(pictures: list[Any]) -> Any:
    """[n, H, W, C]: smaller pictures with black beside them, grey ones in colour beside colour."""
    height, width, channels = (max(one.shape[axis] for one in pictures) for axis in range(3))
    whole = np.zeros((len(pictures), height, width, channels), np.uint8)
    for place, one in zip(whole, pictures, strict=True):
        place[: one.shape[0], : one.shape[1]] = one
    return whole
