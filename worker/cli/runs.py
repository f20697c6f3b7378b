"""The commands for runs: `ganboard run`, `train`, `runs`, `show`, `stop`, `resume`, `clone`,
`delete`, `export`. Thin, as `worker.cli.main`."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import (
    AsJson,
    Changes,
    ListSettings,
    Name,
    Preset,
    RunId,
    find,
    open_database,
)

if TYPE_CHECKING:
    from ganboard.gan.config import RunConfig


def run(
    preset: Preset = None,
    changes: Changes = None,
    name: Name = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Show progress until the run has ended; Ctrl-C leaves it running."
        ),
    ] = False,
    settings: ListSettings = False,
    as_json: AsJson = False,
) -> None:
    """Queue a run; a worker trains it.

    With --follow the exit code is 0 for finished, 1 for failed, 3 for stopped, and 130 after
    Ctrl-C.

    Examples:
      ganboard run --preset starter --follow
      ganboard run --preset paper --set batch_size=256 --set xla=true
      ganboard run --settings
    """
    if settings:
        return output.print_settings(as_json)
    config = _config(preset, changes)
    from ganboard.worker.submission.submit import submit

    context = open_database(create=True)
    submitted = submit(context, config, name=name, preset=preset or "")
    waiting = output.waiting(context, submitted)
    if follow:
        return output.follow(context, submitted, as_json)
    said = (
        f"Queued run {submitted.id}: {submitted.name}{waiting}\nSee it: ganboard show"
        f" {submitted.id}"
    )
    return output.changed(context, submitted.id, said, as_json)


def train(
    preset: Preset = None,
    changes: Changes = None,
    name: Name = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Accepted as by `run`; train always shows its progress."),
    ] = False,
    settings: ListSettings = False,
    as_json: AsJson = False,
) -> None:
    """Train a run in this process (with strategy=multi_worker in several): no Redis, no worker.
    Ctrl-C saves and stops it.

    Exit code: 0 for finished, 1 for failed, 3 for stopped. A stopped run goes on with `ganboard
    resume`.

    Example:
      ganboard train --preset tiny --set precision=mixed_bfloat16
    """
    if settings:
        return output.print_settings(as_json)
    config = _config(preset, changes)
    from ganboard.db.runs import queries
    from ganboard.worker.queue.job import train_here
    from ganboard.worker.submission.submit import submit
    from ganboard.worker.terminal.run_progress import EventFeed, make_view
    from ganboard.worker.training.trainer import train_in_process

    # before TensorFlow is loaded: its start-up notes are no errors
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    context = open_database(pooled=True, create=True)
    submitted = submit(context, config, name=name, preset=preset or "", here=True)
    # libraries that report on stdout must not mix with the document
    with (
        make_view(quiet=as_json) as view,
        contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext(),
    ):
        view.say(f"Run {submitted.id}: {submitted.name}")
        if config.effective_strategy == "multi_worker":
            train_here(context, submitted.id, view)
        else:
            train_in_process(context, submitted.id, on_event=EventFeed(config, view))
    return output.report(context, queries.find_run(context.engine, submitted.id), as_json)


def runs(
    status: Annotated[
        list[str] | None, typer.Option("--status", help="Only runs in this state; may be repeated.")
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            "--search",
            metavar="TERMS",
            help="Only runs for which all these hold, such as `tag:x batch_size>=128 -old`.",
        ),
    ] = "",
    archived: Annotated[
        bool, typer.Option("--archived", help="The archived runs instead of the others.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="How many at most, the newest first.")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first.

    A word of a search is looked for in name, note and tags, and at the beginning of the id; \"two
    words\" go together. Others are tag:x, status:failed, preset:paper, sweep:ID, /regex/ for names,
    and any setting or figure (epoch, step, seconds, g_loss, d_loss, images_per_second, fid,
    memorization) with = != > >= < or <=. A minus before a term turns it round.

    Examples:
      ganboard runs --status running --status queued
      ganboard runs --search "paper fid<20 -tag:old" --json
    """
    from ganboard.db.models import STATUSES
    from ganboard.db.runs import listing, queries
    from ganboard.db.runs import search as language
    from ganboard.gan.config import RunConfig

    if unknown := set(status or ()) - set(STATUSES):
        raise typer.BadParameter(
            f"{min(unknown)!r} is not a state: choose from {', '.join(STATUSES)}.",
            param_hint="--status",
        )
    context, statuses = open_database(), tuple(status or ())
    usual = [
        run
        for run in listing.list_all(context.engine)
        if (run.archived_at is not None) == archived and (not statuses or run.status in statuses)
    ]
    matching = language.matching(usual, language.parse(search, RunConfig().model_dump(mode="json")))
    found = queries.get_runs(context.engine, [run.id for run in matching[:limit]])
    if as_json:
        from ganboard.worker.interchange.document import summaries

        return output.print_json(summaries(context, found))
    from ganboard.worker.terminal.formatting import print_runs

    return print_runs(found, len(matching))


def show(run_id: RunId, as_json: AsJson = False) -> None:
    """Show a run: state, settings, hardware, epochs, and the paths of its files.

    Examples:
      ganboard show latest
      ganboard show k7m --json
    """
    from ganboard.db.runs import queries
    from ganboard.worker.terminal.formatting import print_run

    context, found = find(run_id)
    if as_json:
        return output.print_document(context, found)
    engine = context.engine
    lists = (
        queries.epochs(engine, found.id),
        queries.checkpoints(engine, found.id),
        queries.events(engine, found.id),
    )
    return print_run(context, found, *lists)


def stop(run_id: RunId, as_json: AsJson = False) -> None:
    """Stop a run at its next step; it saves a checkpoint and can be resumed.

    Example:
      ganboard stop latest
    """
    from ganboard.db.models import ENDED
    from ganboard.worker.submission import submit

    context, found = find(run_id)
    now = submit.stop(context, found.id)
    said = (
        f"Run {found.id} is stopped."
        if now in ENDED
        else f"Run {found.id} stops after the step it is in."
    )
    output.changed(context, found.id, said, as_json)


def resume(
    run_id: RunId,
    without: Annotated[
        str | None,
        typer.Option(
            "--without",
            metavar="MACHINE",
            help="Give up the checkpoints on this machine, which is lost.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Queue a stopped or failed run again; it resumes from its latest checkpoint.

    Example:
      ganboard resume k7m
    """
    from ganboard.worker.submission import submit

    context, found = find(run_id)
    resumed = submit.resume(context, found.id, without)
    output.changed(
        context,
        found.id,
        f"Run {found.id} is queued again.{output.waiting(context, resumed)}",
        as_json,
    )


def clone(
    run_id: RunId, changes: Changes = None, name: Name = None, as_json: AsJson = False
) -> None:
    """Queue a new run with the settings of another, optionally changed.

    Example:
      ganboard clone latest --set precision=mixed_bfloat16 --name "the same in bfloat16"
    """
    from ganboard.gan.config import parse_assignments
    from ganboard.worker.submission import submit

    values = parse_assignments(changes or [])
    context, found = find(run_id)
    cloned = submit.clone(context, found.id, values, name=name)
    output.changed(
        context,
        cloned.id,
        f"Queued run {cloned.id}: {cloned.name}{output.waiting(context, cloned)}",
        as_json,
    )


def delete(
    run_id: RunId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a run permanently, with its log, images and checkpoints.

    Example:
      ganboard delete k7m --yes
    """
    from ganboard.worker.formatting import clean
    from ganboard.worker.submission import submit

    context, found = find(run_id)
    what = (
        f"run {found.id} ({clean(found.name)}) with {found.epoch} finished"
        f" epoch{'s' * (found.epoch != 1)}"
    )
    if not yes:
        if as_json or not sys.stdin.isatty():
            output.complain(f"deleting {what} cannot be undone: say --yes.")
            raise typer.Exit(1)
        if not typer.confirm(f"Delete {what}, its log, images and checkpoints?", err=True):
            output.complain("nothing was deleted.")
            raise typer.Exit(1)
    elsewhere = submit.delete(context, found.id)
    if as_json:
        output.print_json(
            {"id": found.id, "name": found.name, "deleted": True, "files_left_on": elsewhere}
        )
    else:
        typer.echo(f"Deleted {what}.")
    if elsewhere:
        output.complain(
            f"its files stay on {', '.join(elsewhere)}: `ganboard doctor` there lists them as"
            " orphans."
        )


def export(
    run_id: RunId,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty directory.")],
    as_json: AsJson = False,
) -> None:
    """Write a run as files: run.json, epochs.csv, steps.csv, quality.csv, events.csv, grids/*.png,
    train.log, manifest.json.

    `ganboard import` reads such a folder, or a ZIP of it, on another machine.

    Example:
      ganboard export latest results/baseline
    """
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
    listed = [(path, size) for path, size in files if not path.startswith("grids")]
    if grids:
        listed.append((f"grids/ ({len(grids)} images)", sum(grids)))
    typer.echo(
        "\n".join(
            [
                f"Exported run {found.id} to {directory}",
                *(f"{size:>12,} bytes  {path}" for path, size in listed),
            ]
        )
    )
    return None


def import_runs(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Folders that `ganboard export` wrote, or ZIP files of them."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Read in runs that another machine exported, to see and compare them here.

    Each is checked in full before it is stored: files that were changed, values out of range and
    strange archives are refused.

    Example:
      ganboard import results/baseline from-the-server.zip
    """
    from ganboard.worker.interchange import importer

    context = open_database(create=True)
    found = [importer.read_in(context, path) for path in paths]
    if as_json:
        return output.print_json(
            [
                {"id": run.id, "name": run.name, "status": run.status, "epochs": run.epoch}
                for run in found
            ]
        )
    for run in found:
        typer.echo(
            f"Run {run.id} ({run.name}): {run.status} after {run.epoch} epochs on"
            f" {(run.hardware or {}).get('host', 'an unknown machine')}."
        )
    return None


def _config(preset: str | None, changes: list[str] | None) -> RunConfig:
    from ganboard.gan import presets
    from ganboard.gan.config import parse, parse_assignments

    values = parse_assignments(changes or [])
    return parse(values) if preset is None else presets.load(preset, values)
