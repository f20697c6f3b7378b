"""The commands that carry a whole installation: `ganboard backup` and `restore`. Thin, as those of
`worker.cli.main`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, open_database

File = Annotated[Path, typer.Argument(metavar="FILE", help="The archive.")]


def backup(file: File, as_json: AsJson = False) -> None:
    """Write the database, logs, checkpoints, snapshots and registered models into one archive,
    while everything goes on.

    Example:
      ganboard backup ganboard-2026-02-28.zip
    """
    from ganboard.worker.backup import backup as saving
    from ganboard.worker.terminal.transfer_progress import make_view

    context = open_database()
    with make_view(quiet=as_json) as view:
        made = saving.backup(context, file, view)
    if as_json:
        return output.print_json(asdict(made))
    left = (
        f"; {made.left_out} files with strange names in runs/ were left out"
        if made.left_out
        else ""
    )
    return typer.echo(
        f"{made.file} holds {_many(made.runs, 'run')}, {_many(made.checkpoints, 'checkpoint')} and"
        f" {_many(made.files, 'file')} in {_size(made.bytes)}, written in {made.seconds:.1f}"
        f" s{left}. Back with: ganboard restore {file}"
    )


def restore(
    file: File,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Put what is there aside first; otherwise only an empty home is filled."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring back what `ganboard backup` wrote: into the home and the database, SQLite or
    PostgreSQL, that the settings name.

    Examples:
      GANBOARD_HOME=~/again ganboard restore ganboard-2026-02-28.zip
      ganboard restore ganboard-2026-02-28.zip --force
    """
    from ganboard.db.settings import Settings
    from ganboard.worker.backup import restore as bringing
    from ganboard.worker.terminal.transfer_progress import make_view

    settings = Settings()
    with make_view(quiet=as_json) as view:
        done = bringing.restore(settings, file.expanduser(), view, force=force)
    if as_json:
        return output.print_json(asdict(done))
    lines = [
        f"{settings.state} holds {_many(done.runs, 'run')} and {_many(done.files, 'file')},"
        f" restored in {done.seconds:.1f} s."
    ]
    if done.queued:
        lines.append(
            f"{done.queued:,} trained during the backup: they resume from their latest checkpoints"
            " with the next `ganboard up`."
        )
    if done.lost_checkpoints:
        lines.append(
            f"{done.lost_checkpoints:,} checkpoints were listed in the database, but not in the"
            " archive: they are no longer listed."
        )
    if done.aside:
        lines.append(f"The previous state is in {done.aside}.")
    return typer.echo("\n".join(lines))


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
