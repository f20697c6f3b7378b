"""What `ganboard export` wrote, read in on another machine. Nothing of it is trusted, and nothing
unpacked to disk.

All values are checked for type and range, and against each other, before one transaction stores
them. `worker.interchange.bundle` reads the files.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from ganboard.db import rehearsals
from ganboard.db.errors import DbError
from ganboard.db.models import (
    Epoch,
    Event,
    Grid,
    LoggedHistogram,
    Quality,
    Run,
    SystemSample,
    UsageSample,
    metric_rows,
)
from ganboard.db.runs import imports
from ganboard.db.runs.annotations import check_tag
from ganboard.gan import config as configs
from ganboard.gan import presets
from ganboard.gan.config import ConfigError
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.rehearsal import report as reports
from ganboard.worker.context import Context
from ganboard.worker.errors import BadName
from ganboard.worker.interchange.bundle import MAX_JSON, BadBundle, Content, refusing
from ganboard.worker.interchange.fields import Number
from ganboard.worker.interchange.logged_table import logged_rows
from ganboard.worker.interchange.schema import RunDocument
from ganboard.worker.interchange.step_table import same, step_rows
from ganboard.worker.submission.naming import check_name

MAX_GRID = 16 << 20
MAX_SIDE = 4096  # pixels of a grid


class Checked(NamedTuple):
    """A run whose values are all valid, with its rows."""

    run: Run
    rows: list[Any]
    tags: list[str]
    text: str  # says where it comes from
    rehearsals: list[dict[str, Any]]


def read_in(context: Context, path: Path) -> Run:
    """Store the run that a bundle holds, under its own id. Raises BadBundle, in one sentence,
    before anything is stored."""
    return store(context, checked(path))


def store(context: Context, one: Checked) -> Run:
    """Store a checked run. Raises NotAllowed when its id is taken."""
    run = imports.insert(context.engine, one.run, one.rows, one.tags, one.text)
    if run.external:
        return run
    key = reports.key(configs.parse(run.config))
    known = {report["target"] for report in rehearsals.of(context.engine, key)}
    for report in one.rehearsals:
        if report["target"] not in known:  # what this machine compiled itself stays
            rehearsals.store(context.engine, key, report["target"], report)
    return run


def checked(path: Path) -> Checked:
    """The run that a bundle holds. Raises BadBundle."""
    if not path.exists():
        raise BadBundle(
            f"There is no {path}. Specify a folder written by `ganboard export`, or a ZIP of one."
        )
    with ExitStack() as stack, refusing(path):
        return _check(Content(path, stack), path)


def _check(content: Content, path: Path) -> Checked:
    document = RunDocument.model_validate_json(content.read("run.json", MAX_JSON))
    try:
        settings, epochs = _settings(document)
        name = check_name(document.name)
        tags = [check_tag(tag) for tag in document.tags]
    except (ConfigError, BadName, DbError) as error:
        raise BadBundle(f"{path} is refused: {error}") from None
    _agree(document, epochs, path)
    common = document.model_dump(
        include={
            "id", "status", "note", "owner", "priority", "created_at", "queued_at", "started_at",
            "ended_at", "attempt", "error", "examples", "steps_per_epoch", "g_parameters",
            "d_parameters", "epoch", "step", "images_per_second", "external", "reports",
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
        config=settings,
        hardware=hardware,
        facts=facts,
        seconds=seconds,
        g_loss=document.g_loss_hex,
        d_loss=document.d_loss_hex,
    )
    steps = logged_rows if document.external else step_rows
    rows = [*_rows(document, content), *steps(document, content)]
    brought = [one.report() for one in document.rehearsals]
    return Checked(run, rows, tags, f"Imported from {path.name[:100]}.", brought)


def _settings(document: RunDocument) -> tuple[dict[str, Any], int | None]:
    """The configuration typed, and with no setting more than it had, and the epochs it asks for;
    that of a script is as it is and asks for none. Raises ConfigError."""
    if document.external:
        for name, value in document.config.items():
            if not isinstance(value, str | int | float | None):
                raise ConfigError(f"{name[:40]} is neither text nor a number, but {value!r:.40}.")
        return document.config, None
    config = configs.parse(document.config)
    typed = config.model_dump(mode="json")
    own = {name: value for name, value in typed.items() if name in document.config}
    return own, config.epochs


def _agree(document: RunDocument, epochs: int | None, path: Path) -> None:
    """What one export cannot contradict itself in."""
    if epochs is not None:
        _agree_on_epochs(document, epochs, path)
    listed: dict[str, list[Any]] = {
        "epoch": [one.epoch for one in document.epochs],
        "evaluation": [one.epoch for one in document.quality],
        "grid": [one.epoch for one in document.grids],
    }
    for what, keys in {
        **listed,
        "sample of the machine": [one.at for one in document.samples],
        "histogram": [(one.name, one.step) for one in document.histograms],
    }.items():
        if len(set(keys)) < len(keys):
            raise BadBundle(f"{path} is refused: it contains the same {what} twice.")


def _agree_on_epochs(document: RunDocument, epochs: int, path: Path) -> None:
    if [one.epoch for one in document.epochs] != list(range(1, document.epoch + 1)):
        raise BadBundle(
            f"{path} is refused: it contains {len(document.epochs)} epochs, but declares"
            f" {document.epoch} as finished."
        )
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
            same(last.g_loss_hex, document.g_loss_hex)
            and same(last.d_loss_hex, document.d_loss_hex)
        ):
            raise BadBundle(
                f"{path} is refused: the run's losses differ from those of its last epoch."
            )


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
    for used in document.usage:
        yield UsageSample(run_id=document.id, **used.model_dump())
    for histogram in document.histograms:
        yield LoggedHistogram(
            run_id=document.id,
            **histogram.model_dump(include={"name", "step", "time"}),
            edges=np.array(histogram.edges),
            counts=np.array(histogram.counts),
        )
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
