"""A run as files that other programs read: run.json, tables, grids/ and train.log; and its
model."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count, zip_longest
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import orjson

from ganboard.db.curves import timeline
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.checkpoint import reader
from ganboard.gan.config import model_of
from ganboard.gan.events import MEASURES, REAL_IMAGES, SERIES
from ganboard.gan.quality.declared import OF_MODEL
from ganboard.gan.settings.features import FACT, recorded
from ganboard.worker import placement
from ganboard.worker.artifacts import run_logs, transfers
from ganboard.worker.context import Context
from ganboard.worker.errors import WorkerError
from ganboard.worker.interchange.bundle import write_manifest
from ganboard.worker.interchange.document import complete_document, document, encode
from ganboard.worker.safe_files import open_inside

EPOCH_COLUMNS = (
    "run_id", "name", "epoch", "attempt", "steps", "images", "g_loss", "d_loss", "seconds",
    "compile_seconds", "images_per_second", "g_x", "g_y", "d_x", "d_y", "g_loss_hex", "d_loss_hex",
    "finished_at", *MEASURES,
)  # fmt: skip
STEP_COLUMNS = ("step", "epoch", "g_loss", "d_loss", *SERIES, "training_seconds", "time")
QUALITY_COLUMNS = (
    "run_id",
    "name",
    "epoch",
    "attempt",
    "made_at",
    "seconds",
    "training_seconds",
    "preparation_seconds",
)  # then the model's measures, classes and features
LOGGED_COLUMNS = ("name", "step", "time", "value")  # time: seconds since 1970
EVENT_COLUMNS = ("at", "level", "attempt", "text")
README = """A checkpoint of the ganboard run {run_id}, saved after step {step}.

- state.npz: every array by name: the weights of the generator and the discriminator, the state of
  their optimizers, and with ema the averaged generator; the names under progress/ hold the progress
- config.json: the settings of the run
- manifest.json: size and SHA-256 of state.npz, and the versions that wrote it

With ganboard installed, in this folder:

    import json
    from pathlib import Path

    import numpy as np

    from ganboard.gan.config import parse
    from ganboard.gan.modeling import samples
    from ganboard.gan.training import step

    config = parse(json.loads(Path("config.json").read_text()))
    nets = step.networks(config)
    state = np.load("state.npz", allow_pickle=False)
    nets.assign({{name: state[name] for name in nets.arrays()}})
    images = samples.grid(config, nets.eval_generator)
    Path("grid.png").write_bytes(samples.png(images, config.grid_size))

nets.generator, nets.discriminator and nets.eval_generator (used for samples and evaluation) are
Keras models. Without ganboard: numpy.load reads every array of state.npz; names are the paths of
Keras variables.
"""


class ExportFailed(WorkerError):
    """The directory cannot take the export, or there is nothing to export."""


def export(context: Context, run: Run, directory: Path) -> list[Path]:
    """Write everything stored about `run` into `directory`, which must be empty or new; returns the
    files.

    Numbers in the CSV files are the shortest decimals that give back the same float64 bits; a cell
    is empty where nothing was measured. manifest.json, with the digest of every other file, is
    written last: where it is, the export is complete and can be imported. train.log has the logs of
    all machines that trained the run, oldest first; without one where neither this machine nor the
    artifact store has any. Raises ExportFailed, StoreError.
    """
    try:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise ExportFailed(f"{directory} is not empty. Choose a new directory.")
        directory.mkdir(parents=True, exist_ok=True)
        files = list(_write(context, run, directory))
        return [*files, write_manifest(directory, files)]
    except OSError as error:
        raise ExportFailed(
            f"{error.filename or directory} cannot be written ({error.strerror})."
        ) from None


def export_zip(context: Context, run: Run, path: Path) -> None:
    """The same as one ZIP file; the files lie in a folder named as the run's id. Beside `path`
    there must be room for them once more."""
    folder = path.with_suffix("")
    files = export(context, run, folder)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, Path(run.id, file.relative_to(folder)))
    shutil.rmtree(folder)


def model_zip(context: Context, run: Run, path: Path) -> None:
    """The newest checkpoint of a run as a ZIP file, with its settings and how to load it. Raises
    ExportFailed."""
    directory = transfers.ensure(context, run.id)
    newest = reader.newest(directory)
    if newest is None:
        raise ExportFailed(placement.absence(context, run))
    try:
        with ZipFile(path, "w", ZIP_STORED) as archive:  # weights hardly shrink
            archive.writestr(
                "README.txt", README.format(run_id=run.id, step=newest.name.split("-")[1])
            )
            archive.writestr("config.json", orjson.dumps(run.config, option=orjson.OPT_INDENT_2))
            for name in ("manifest.json", "state.npz"):
                with (
                    open_inside(directory.parent, f"checkpoints/{newest.name}/{name}") as source,
                    archive.open(name, "w", force_zip64=True) as target,
                ):
                    shutil.copyfileobj(source, target)
    except FileNotFoundError:
        raise ExportFailed(
            f"The checkpoint of run {run.id} was replaced by a newer one during the export. Try"
            " again."
        ) from None


def safe_cell(text: str) -> str:
    """Text that a spreadsheet shows instead of computing: a leading = + - @ tab or return gets an
    apostrophe before it."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def epochs_csv(context: Context, run: Run) -> Iterator[str]:
    """The lines of epochs.csv: one row per finished epoch."""
    rows = (
        {**_who(run), **epoch, **epoch["measures"]} for epoch in document(context, run)["epochs"]
    )
    return _lines(EPOCH_COLUMNS, rows)


def steps_csv(context: Context, run: Run) -> Iterator[str]:
    """The lines of steps.csv: one row per step. Its last two columns are interpolated within each
    epoch."""
    return _lines(STEP_COLUMNS, _steps(context, run))


def quality_csv(context: Context, run: Run) -> Iterator[str]:
    """The lines of quality.csv: one row per evaluation."""
    evaluations = document(context, run)["quality"]
    classes = [
        f"class_{k}"
        for k in range(max((len(evaluated["histogram"]) for evaluated in evaluations), default=0))
    ]
    rows = (
        {
            **_who(run),
            **evaluated,
            **dict(zip(classes, evaluated["histogram"], strict=False)),
            FACT: recorded(run.facts).fact,
        }
        for evaluated in evaluations
    )
    measures = OF_MODEL[model_of(run.config)]
    return _lines((*QUALITY_COLUMNS, *measures, *classes, FACT), rows)


def events_csv(context: Context, run: Run) -> Iterator[str]:
    """The lines of events.csv, oldest first."""
    events = queries.events(context.engine, run.id, limit=None)[::-1]
    return _lines(
        EVENT_COLUMNS, ({**event.model_dump(), "text": safe_cell(event.text)} for event in events)
    )


def logged_csv(context: Context, run: Run) -> Iterator[str]:
    """The lines of logged.csv: one row per value that a script logged."""
    from ganboard.db.curves import logged  # with pandas, which no other table needs

    rows = (
        {"name": safe_cell(name), "step": step, "time": time, "value": value}
        for name, step, time, value in logged.rows(context.engine, run.id)
    )
    return _lines(LOGGED_COLUMNS, rows)


TABLES = {
    "epochs.csv": epochs_csv,
    "steps.csv": steps_csv,
    "quality.csv": quality_csv,
    "events.csv": events_csv,
}


def _who(run: Run) -> dict[str, str]:
    return {"run_id": run.id, "name": safe_cell(run.name)}


def _write(context: Context, run: Run, directory: Path) -> Iterator[Path]:
    engine = context.engine
    tables = {**TABLES, **({"logged.csv": logged_csv} if run.external else {})}
    for name, lines in tables.items():
        with (directory / name).open("w", newline="", encoding="utf-8") as file:
            file.writelines(lines(context, run))
        yield directory / name
    if grids := queries.grids(engine, run.id):
        (directory / "grids").mkdir()
        for grid in grids:
            path = (
                directory
                / "grids"
                / ("real.png" if grid.epoch == REAL_IMAGES else f"epoch-{grid.epoch:04d}.png")
            )
            path.write_bytes(grid.png)
            yield path
    if logs := run_logs.parts(context, run.id)[::-1]:
        with (directory / "train.log").open("xb") as copy:
            for part in logs:
                if len(logs) > 1:
                    copy.write(f"=== machine {part.machine} ===\n".encode())
                with (
                    suppress(FileNotFoundError),
                    open_inside(part.path.parent, part.path.name) as source,
                ):
                    shutil.copyfileobj(source, copy)
        yield directory / "train.log"
    path = directory / "run.json"
    path.write_bytes(encode(complete_document(context, run)))
    yield path


def _steps(context: Context, run: Run) -> Iterator[dict[str, Any]]:
    times = timeline.of_run(context.engine, run.id)
    for epoch in count(1):
        losses = queries.step_losses(context.engine, run.id, epoch)
        if losses is None or times is None:
            return
        columns = {
            "g_loss": losses.g_losses,
            "d_loss": losses.d_losses,
            **queries.step_series(context.engine, run.id, epoch),
        }
        first = (epoch - 1) * times.per_epoch + 1
        numbers = np.arange(first, first + len(losses.g_losses))
        at = times.columns(numbers)
        columns |= {
            "training_seconds": at["training_seconds"],
            "time": np.datetime_as_string(at["time"], unit="ms", timezone="UTC"),
        }
        for number, values in enumerate(
            zip_longest(*(column.tolist() for column in columns.values())), first
        ):
            yield {"step": number, "epoch": epoch, **dict(zip(columns, values, strict=True))}


class _Line:
    """A file that keeps nothing: what the CSV writer writes is what its `writerow` returns."""

    def write(self, text: str) -> str:
        return text


def _lines(columns: tuple[str, ...], rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    writer = csv.DictWriter(_Line(), columns, extrasaction="ignore")
    yield str(writer.writeheader())
    for row in rows:
        yield str(writer.writerow(row))
