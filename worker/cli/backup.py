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
    without stopping anything.

    Example:
      ganboard backup ganboard-2026-02-28.zip
    """
    from ganboard.worker.backup import backup as saving
    from ganboard.worker.formatting import plural
    from ganboard.worker.terminal.progress_bar import ProgressBar

    context = open_database()
    with ProgressBar("Backing up", "bytes", quiet=as_json) as progress:
        made = saving.backup(context, file, progress)
    if as_json:
        return output.print_json(asdict(made))
    left = (
        f"; {made.left_out} files with invalid names in runs/ were left out"
        if made.left_out
        else ""
    )
    return typer.echo(
        f"{made.file} holds {plural(made.runs, 'run')}, {plural(made.checkpoints, 'checkpoint')}"
        f" and {plural(made.files, 'file')} in {_size(made.bytes)}, written in {made.seconds:.1f}"
        f" s{left}. Restore with: ganboard restore {file}"
    )


def restore(
    file: File,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Set existing state aside first. Without it, GANBOARD_HOME must be empty.",
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
    from ganboard.worker.formatting import plural
    from ganboard.worker.terminal.progress_bar import ProgressBar

    settings = Settings()
    with ProgressBar("Restoring", "bytes", quiet=as_json) as progress:
        done = bringing.restore(settings, file.expanduser(), progress, force=force)
    if as_json:
        return output.print_json(asdict(done))
    lines = [
        f"{settings.state} holds {plural(done.runs, 'run')} and {plural(done.files, 'file')},"
        f" restored in {done.seconds:.1f} s."
    ]
    if done.queued:
        lines.append(
            f"{done.queued:,} trained during the backup: they resume from their latest checkpoints"
            " with the next `ganboard up`."
        )
    if done.lost_checkpoints:
        lines.append(
            f"{done.lost_checkpoints:,} checkpoints were listed in the database but missing in the"
            " archive and have been removed from the list."
        )
    if done.channels_off:
        lines.append(
            f"Alerts are off: {plural(done.channels_off, 'channel')} can be switched on again with"
            " `ganboard alerts on`."
        )
    if done.aside:
        lines.append(f"The previous state is in {done.aside}.")
    return typer.echo("\n".join(lines))


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
