"""A run as files that other programs read: run.json, epochs.csv, steps.csv, quality.csv, grids/ and train.log."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Iterator
from itertools import count, zip_longest
from pathlib import Path
from typing import Any

from db import queries
from db.models import Run
from gan.events import MEASURES, QUALITY, SERIES
from worker.context import Context
from worker.document import complete_document, encode
from worker.errors import WorkerError

EPOCH_COLUMNS = (
    "run_id", "name", "epoch", "attempt", "steps", "images", "g_loss", "d_loss", "seconds", "compile_seconds", "images_per_second",
    "g_x", "g_y", "d_x", "d_y", "g_loss_hex", "d_loss_hex", "finished_at", *MEASURES,
)  # fmt: skip
STEP_COLUMNS = ("step", "epoch", "g_loss", "d_loss", *SERIES)
QUALITY_COLUMNS = ("run_id", "name", "epoch", "attempt", "made_at", "seconds", "training_seconds", *QUALITY)


class ExportFailed(WorkerError):
    """The directory cannot take the export."""


def export(context: Context, run: Run, directory: Path) -> list[Path]:
    """Write everything stored about `run` into `directory`, which must be empty or new; returns the files.

    Numbers in the CSV files are the shortest decimals that give back the same float64 bits; a cell is empty where nothing was measured.
    run.json is written last: where it is, the export is complete. Raises ExportFailed.
    """
    try:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise ExportFailed(f"{directory} is not an empty directory: name a new one.")
        directory.mkdir(parents=True, exist_ok=True)
        return list(_write(context, run, directory))
    except OSError as error:
        raise ExportFailed(f"{error.filename or directory} cannot be written ({error.strerror}).") from None


def safe_cell(text: str) -> str:
    """Text that a spreadsheet shows instead of computing: a leading = + - @ tab or return gets an apostrophe before it."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _write(context: Context, run: Run, directory: Path) -> Iterator[Path]:
    engine = context.engine
    document = complete_document(context, run)
    who = {"run_id": run.id, "name": safe_cell(run.name)}
    yield _table(directory / "epochs.csv", EPOCH_COLUMNS, ({**who, **epoch, **epoch["measures"]} for epoch in document["epochs"]))
    yield _table(directory / "steps.csv", STEP_COLUMNS, _steps(context, run))
    if document["quality"]:
        classes = [f"class_{k}" for k in range(max(len(judged["histogram"]) for judged in document["quality"]))]
        rows = ({**who, **judged, **dict(zip(classes, judged["histogram"], strict=False))} for judged in document["quality"])
        yield _table(directory / "quality.csv", (*QUALITY_COLUMNS, *classes), rows)
    if grids := queries.grid_epochs(engine, run.id):
        (directory / "grids").mkdir()
        for epoch in grids:
            if (grid := queries.grid(engine, run.id, epoch)) is not None:
                path = directory / "grids" / f"epoch-{epoch:04d}.png"
                path.write_bytes(grid.png)
                yield path
    log = context.settings.log_path(run.id)
    if log.is_file():  # it lies on the machine that trained the run
        yield Path(shutil.copyfile(log, directory / "train.log"))
    path = directory / "run.json"
    path.write_bytes(encode(document))
    yield path


def _steps(context: Context, run: Run) -> Iterator[dict[str, Any]]:
    for epoch in count(1):
        losses = queries.step_losses(context.engine, run.id, epoch)
        if losses is None:
            return
        columns = {"g_loss": losses.g_losses, "d_loss": losses.d_losses, **queries.step_series(context.engine, run.id, epoch)}
        before = (epoch - 1) * (run.steps_per_epoch or 0)
        for number, values in enumerate(zip_longest(*(column.tolist() for column in columns.values())), before + 1):
            yield {"step": number, "epoch": epoch, **dict(zip(columns, values, strict=True))}


def _table(path: Path, columns: tuple[str, ...], rows: Iterable[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path
