"""What `ganboard export` wrote, read in on another machine. Nothing of it is trusted, and nothing
unpacked to disk.

All values are checked for type and range, and against each other, before one transaction stores
them. `worker.interchange.bundle` reads the files.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from pydantic import ValidationError

from ganboard.db.errors import DbError
from ganboard.db.models import (
    Epoch,
    Event,
    Grid,
    Quality,
    Run,
    StepLosses,
    StepSeries,
    SystemSample,
    metric_rows,
)
from ganboard.db.runs import imports
from ganboard.db.runs.annotations import check_tag
from ganboard.gan import config as configs
from ganboard.gan import presets
from ganboard.gan.config import ConfigError
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.events import SERIES
from ganboard.gan.quality.declared import METRICS
from ganboard.worker.context import Context
from ganboard.worker.errors import BadName
from ganboard.worker.interchange.bundle import MAX_JSON, BadBundle, Content
from ganboard.worker.interchange.schema import EpochDocument, Number, RunDocument
from ganboard.worker.submission.submit import check_name

MAX_TABLE = 512 << 20
MAX_GRID = 16 << 20
MAX_SIDE = 4096  # pixels of a grid


def read_in(context: Context, path: Path) -> Run:
    """Store the run that a bundle holds, under its own id. Raises BadBundle, in one sentence,
    before anything is stored."""
    if not path.exists():
        raise BadBundle(
            f"There is no {path}. Specify a folder written by `ganboard export`, or a ZIP of one."
        )
    with ExitStack() as stack:
        try:
            content = Content(path, stack)
            return _store(context, content, path)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))[:80]
            given = repr(first["input"])[:60]
            raise BadBundle(
                f"{path} is refused: {where} is {given}, but"
                f" {first['msg'][0].lower()}{first['msg'][1:]}."
            ) from None
        except DatasetError as error:
            raise BadBundle(str(error)) from None
        except OSError as error:
            raise BadBundle(
                f"{error.filename or path} cannot be read ({error.strerror or error}). Specify a"
                " folder or ZIP made by `ganboard export`."
            ) from None


def _store(context: Context, content: Content, path: Path) -> Run:
    document = RunDocument.model_validate_json(content.read("run.json", MAX_JSON))
    try:
        config = configs.parse(document.config)
        name = check_name(document.name)
        tags = [check_tag(tag) for tag in document.tags]
    except (ConfigError, BadName, DbError) as error:
        raise BadBundle(f"{path} is refused: {error}") from None
    _agree(document, config.epochs, path)
    common = document.model_dump(
        include={
            "id", "status", "note", "created_at", "queued_at", "started_at", "ended_at",
            "attempt", "error", "examples", "steps_per_epoch", "g_parameters", "d_parameters",
            "epoch", "step", "images_per_second",
        }
    )  # fmt: skip
    hardware = document.hardware.model_dump(exclude_unset=True) if document.hardware else None
    facts = {
        **document.facts.model_dump(exclude_unset=True),
        imports.IMPORTED: datetime.now(UTC).isoformat(timespec="seconds"),
    }
    seconds = _number(document.seconds)
    run = Run(
        **common,
        name=name,
        preset=presets.current(document.preset),
        # typed, and no setting more than it had
        config={name: config.model_dump(mode="json")[name] for name in document.config},
        hardware=hardware,
        facts=facts,
        seconds=seconds,
        g_loss=document.g_loss_hex,
        d_loss=document.d_loss_hex,
    )
    rows = [*_rows(document, content), *_steps(document, content)]
    return imports.insert(context.engine, run, rows, tags, f"Imported from {path.name[:100]}.")


def _agree(document: RunDocument, epochs: int, path: Path) -> None:
    """What one export cannot contradict itself in."""
    if [one.epoch for one in document.epochs] != list(range(1, document.epoch + 1)):
        raise BadBundle(
            f"{path} is refused: it contains {len(document.epochs)} epochs, but declares"
            f" {document.epoch} as finished."
        )
    listed: dict[str, list[Any]] = {
        "evaluation": [one.epoch for one in document.quality],
        "grid": [one.epoch for one in document.grids],
    }
    for what, keys in {
        **listed,
        "sample of the machine": [one.at for one in document.samples],
    }.items():
        if len(set(keys)) < len(keys):
            raise BadBundle(f"{path} is refused: it contains the same {what} twice.")
    if document.status == "finished" and document.epoch != epochs:
        raise BadBundle(
            f"{path} is refused: the run is finished after {document.epoch} epochs, but its"
            f" settings ask for {epochs}."
        )
    if any(one.steps != document.steps_per_epoch for one in document.epochs):
        raise BadBundle(
            f"{path} is refused: an epoch does not have the declared {document.steps_per_epoch}"
            " steps."
        )
    if document.epochs and document.step == document.epoch * (document.steps_per_epoch or 0):
        last = document.epochs[-1]
        if not (
            _same(last.g_loss_hex, document.g_loss_hex)
            and _same(last.d_loss_hex, document.d_loss_hex)
        ):
            raise BadBundle(
                f"{path} is refused: the run's losses differ from those of its last epoch."
            )


def _same(a: Number, b: Number) -> bool:
    """Equal, or both not a number."""
    return a == b or (a != a and b != b)


def _number(value: Number) -> float:
    return float("nan") if value is None else value


def _rows(document: RunDocument, content: Content) -> Iterator[Any]:
    for one in document.epochs:
        path: dict[str, Any] = {
            name: _number(getattr(one, name)) for name in ("g_x", "g_y", "d_x", "d_y")
        }
        plain = one.model_dump(
            include={
                "epoch",
                "attempt",
                "finished_at",
                "steps",
                "images",
                "seconds",
                "compile_seconds",
                "measures",
            }
        )
        yield Epoch(
            run_id=document.id, g_loss=one.g_loss_hex, d_loss=one.d_loss_hex, **plain, **path
        )
    for evaluated in document.quality:
        plain = evaluated.model_dump(
            include={
                "epoch",
                "attempt",
                "made_at",
                "seconds",
                "training_seconds",
                "preparation_seconds",
            }
        )
        measures = evaluated.model_dump(include=set(METRICS), exclude_none=True)
        yield Quality(
            run_id=document.id,
            histogram=np.array(evaluated.histogram, np.float32),
            metrics=metric_rows(document.id, evaluated.epoch, measures),
            **plain,
        )
    for event in document.events:
        yield Event(run_id=document.id, **event.model_dump())
    for sample in document.samples:
        yield SystemSample(run_id=document.id, **sample.model_dump())
    for grid in document.grids:
        if grid.file not in content.digests:
            raise BadBundle(f"{content.path} is refused: {grid.file} is missing. Export it again.")
        png = content.read(grid.file, MAX_GRID)
        _check_png(png, grid.file, content.path)
        yield Grid(run_id=document.id, png=png, **grid.model_dump())


def _check_png(data: bytes, name: str, path: Path) -> None:
    """Decode it whole, so that no page receives an invalid picture."""
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            if max(image.size) > MAX_SIDE:
                raise BadBundle(
                    f"{path} is refused: {name} has more than {MAX_SIDE:,} pixels per side."
                )
            image.load()
    except BadBundle:
        raise
    except Exception as error:  # parsers of third-party formats raise many undocumented exceptions
        raise BadBundle(
            f"{path} is refused: {name} is not a readable PNG ({type(error).__name__})."
        ) from None


def _steps(document: RunDocument, content: Content) -> Iterator[Any]:
    """The losses and series of every epoch; their float64 means must be the epochs' losses to the
    bit."""
    text = io.TextIOWrapper(
        io.BytesIO(content.read("steps.csv", MAX_TABLE)), encoding="utf-8", newline=""
    )
    refused = f"{content.path} is refused: steps.csv"
    try:
        reader = csv.reader(text)
        names = next(reader, [])
        places = {
            name: names.index(name)
            for name in ("epoch", "g_loss", "d_loss", *SERIES)
            if name in names
        }
        epochs: dict[int, list[list[float]]] = {}
        for line in reader:
            values = [
                float(line[place]) if line[place] else float("nan") for place in places.values()
            ]
            epochs.setdefault(int(values[0]), []).append(values[1:])
    except (ValueError, IndexError, csv.Error, UnicodeDecodeError) as error:
        raise BadBundle(
            f"{refused} cannot be read ({type(error).__name__}). Export it again."
        ) from None
    if {"epoch", "g_loss", "d_loss"} - set(places):
        raise BadBundle(f"{refused} does not have the columns epoch, g_loss and d_loss.")
    per_epoch = document.steps_per_epoch or 0
    attempts = {one.epoch: one.attempt for one in document.epochs}
    if sorted(epochs) != list(range(1, len(epochs) + 1)) or len(epochs) not in (
        document.epoch,
        document.epoch + 1,
    ):
        raise BadBundle(f"{refused} has {len(epochs)} epochs, run.json has {document.epoch}.")
    for epoch, lines in epochs.items():
        columns: dict[str, npt.NDArray[np.float32]] = {
            name: np.array(column, np.float32)
            for name, column in zip(list(places)[1:], zip(*lines, strict=True), strict=True)
        }
        if len(lines) > per_epoch or (epoch <= document.epoch and len(lines) != per_epoch):
            raise BadBundle(
                f"{refused} has {len(lines)} steps in epoch {epoch}, run.json {per_epoch} in each."
            )
        attempt = attempts.get(epoch, document.attempt)
        if epoch <= document.epoch:
            _same_means(document.epochs[epoch - 1], columns, refused)
        g_losses, d_losses = columns.pop("g_loss"), columns.pop("d_loss")
        yield StepLosses(
            run_id=document.id, epoch=epoch, attempt=attempt, g_losses=g_losses, d_losses=d_losses
        )
        for name, series in columns.items():
            if not np.isnan(series).all():
                yield StepSeries(
                    run_id=document.id, epoch=epoch, name=name, attempt=attempt, values=series
                )


def _same_means(
    document: EpochDocument, columns: dict[str, npt.NDArray[np.float32]], refused: str
) -> None:
    for net, loss in (("g", document.g_loss_hex), ("d", document.d_loss_hex)):
        mean = float(columns[f"{net}_loss"].mean(dtype=np.float64))
        if not _same(mean, loss):
            raise BadBundle(
                f"{refused} gives {net.upper()} a mean loss of {mean!r} in epoch {document.epoch},"
                f" run.json {loss!r}."
            )
