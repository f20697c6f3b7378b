"""Runs as files: `ganboard export`, `import` and `tensorboard`. Thin, as those of
`worker.cli.main`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, RunId, find, open_database

if TYPE_CHECKING:
    from ganboard.db.models import Run
    from ganboard.worker.context import Context
    from ganboard.worker.foreign.record import Record


def export(
    run_id: RunId,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New or empty directory.")],
    as_json: AsJson = False,
) -> None:
    """Write a run as files: run.json, epochs.csv, steps.csv, quality.csv, events.csv, grids/*.png,
    train.log, manifest.json.

    `ganboard import` reads such a folder, or a ZIP of it, on another machine.

    Example:
      ganboard export latest results/baseline
    """
    from ganboard.worker import placement
    from ganboard.worker.interchange import export as exporter

    context, found = find(run_id)
    files = [
        (str(path.relative_to(directory)), path.stat().st_size)
        for path in exporter.export(context, found, directory)
    ]
    if as_json:
        return output.print_json(
            {
                "id": found.id,
                "directory": str(directory.resolve()),
                "files": [{"path": p, "bytes": b} for p, b in files],
            }
        )
    grids = [size for path, size in files if path.startswith("grids")]
    without_log = "train.log" not in dict(files) and placement.log_absence(context, found)
    listed = [(path, size) for path, size in files if not path.startswith("grids")]
    if grids:
        listed.append((f"grids/ ({len(grids)} images)", sum(grids)))
    typer.echo(
        "\n".join(
            [
                f"Exported run {found.id} to {directory}",
                *(f"{size:>12,} bytes  {path}" for path, size in listed),
                *([without_log] if without_log else []),
            ]
        )
    )
    return None


def tensorboard(
    run_id: RunId,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `tensorboard --logdir` is given.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write a stored run as TensorBoard event files: scalars, histograms, images, settings, texts.

    They go into a folder of their own below DIR, so that DIR can hold many runs, together with the
    profiler traces that profile_steps recorded on this machine. A run with tensorboard=true writes
    such files while it trains, below HOME/runs.

    Example:
      ganboard tensorboard latest logs && tensorboard --logdir logs
    """
    from ganboard.worker.tensorboard import installed

    installed.require()
    from ganboard.worker.tensorboard import stored

    context, found = find(run_id)
    path = stored.write(context, found, directory)
    if as_json:
        return output.print_json(
            {"id": found.id, "file": str(path.resolve()), "bytes": path.stat().st_size}
        )
    typer.echo(
        f"Wrote run {found.id} to {path} ({path.stat().st_size:,} bytes)."
        f" Open it with: tensorboard --logdir {directory}"
    )
    return None


def import_runs(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="[tensorboard|mlflow|wandb] PATH...",
            help="Folders written by `ganboard export`, ZIP files of them, bundles of `ganboard"
            " firstday`, files that `ganboard.start` recorded offline, or folders with TensorBoard"
            " event files; after `mlflow` the URIs of tracking servers, folders or databases, after"
            " `wandb` exported histories (.csv, .jsonl or .parquet).",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Read in runs that another machine or another program recorded, to see and compare them here;
    of a first day's bundle also its step times, which calibrate the estimates of `ganboard
    rehearse`.

    Each is checked in full before it is stored: files that were changed, values out of range and
    strange archives are refused. What was cut off is read up to there, and said.

    Example:
      ganboard import results/baseline from-the-server.zip
      ganboard import tensorboard logs
      ganboard import mlflow http://mlflow:5000
    """
    context = open_database(create=True)
    chosen = OTHERS.get(places[0]) if len(places) > 1 else None
    found = []
    for place in places[1:] if chosen else places:
        for run in chosen(context, place) if chosen else _any(context, Path(place), as_json):
            found.append(run)
            if not as_json:
                typer.echo(
                    f"Run {run.id} ({run.name}): {run.status} after {_length(run)} on"
                    f" {(run.hardware or {}).get('host', 'an unknown machine')}."
                )
    if as_json:
        output.print_json(
            [
                {"id": run.id, "name": run.name, "status": run.status, "epochs": run.epoch}
                for run in found
            ]
        )


def _any(context: Context, path: Path, as_json: bool) -> Iterator[Run]:
    """The runs of a path, by what it holds."""
    from ganboard.worker.external import importing as recordings
    from ganboard.worker.firstday import importing
    from ganboard.worker.formatting import clean
    from ganboard.worker.interchange import importer
    from ganboard.worker.tensorboard import installed

    if recordings.is_recording(path):
        recorded = recordings.read_in(context, path)
        yield recorded.run
        if recorded.problem:
            typer.echo(clean(recorded.problem), err=True)
    elif importing.is_bundle(path):
        day = importing.read_in(context, path)
        if not as_json:
            known = f", {len(day.known)} known already" if day.known else ""
            typer.echo(
                f"Machine {clean(day.machine)}: {day.calibrations} step times,"
                f" {len(day.runs)} runs{known}."
            )
        yield from day.runs
    elif installed.holds_event_files(path):
        yield from _event_files(context, str(path))
    else:
        yield importer.read_in(context, path)


def _event_files(context: Context, place: str) -> Iterator[Run]:
    from ganboard.worker.tensorboard import installed

    installed.require()
    from ganboard.worker.foreign import event_files

    path = Path(place)
    source = f"TensorBoard's event files in {path.resolve().name}"
    yield from _stored(context, source, event_files.runs(path))


def _mlflow(context: Context, place: str) -> Iterator[Run]:
    from ganboard.worker.foreign import mlflow_runs

    yield from _stored(context, "MLflow", mlflow_runs.runs(place))


def _wandb(context: Context, place: str) -> Iterator[Run]:
    from ganboard.worker.foreign import wandb_history

    source = f"the W&B history {Path(place).name}"
    yield from _stored(context, source, [wandb_history.run(Path(place))])


OTHERS = {"tensorboard": _event_files, "mlflow": _mlflow, "wandb": _wandb}


def _stored(context: Context, source: str, records: Iterable[tuple[str, Record]]) -> Iterator[Run]:
    """Stores runs; those that were imported before are named, and are an error only where there is
    no other."""
    from ganboard.db.errors import NotAllowed
    from ganboard.worker.foreign import storing
    from ganboard.worker.formatting import clean

    known, new = None, 0
    for name, record in records:
        try:
            one = storing.store(context, name, source, record)
        except NotAllowed as error:
            known = error
            typer.echo(clean(f"{name}: {error}"), err=True)
            continue
        new += 1
        yield one.run
        for problem in one.problems:
            typer.echo(clean(f"{one.run.name}: {problem}"), err=True)
    if known is not None and not new:
        raise known


def _length(run: Run) -> str:
    return f"{run.epoch} epochs" if run.epoch or not run.step else f"{run.step:,} steps"
