"""The commands that delete and restore runs: `ganboard delete` and `undelete`. Thin, as those of
`worker.cli.main`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, RunId, RunIds, open_database

if TYPE_CHECKING:
    from ganboard.db.models import Run
    from ganboard.worker.context import Context


def delete(
    run_id: RunId,
    permanently: Annotated[
        bool, typer.Option("--permanently", help="Remove it at once, also out of the trash.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask for confirmation of --permanently.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Move a run to the trash, from which `ganboard undelete` restores it for a week. Then it is
    removed, with its log, images and checkpoints.

    Examples:
      ganboard delete k7m
      ganboard delete k7m --permanently --yes
    """
    from ganboard.db.runs import queries, trash
    from ganboard.worker.formatting import clean, plural

    context = open_database()
    found = queries.find_run(context.engine, run_id, trash_too=permanently)
    what = f"run {found.id} ({clean(found.name)}) with {plural(found.epoch, 'finished epoch')}"
    if permanently:
        return _remove(context, found, what, yes, as_json)
    moved = trash.move(context.engine, run_id=found.id)
    assert moved.deleted_at is not None
    until = trash.removed_at(moved.deleted_at)
    if as_json:
        return output.print_json(
            {"id": found.id, "name": found.name, "deleted": True, "removed_at": until}
        )
    return typer.echo(
        f"Moved {what} to the trash. It will be removed on {until:%Y-%m-%d %H:%M} UTC; `ganboard"
        f" undelete {found.id}` restores it."
    )


def _remove(context: Context, found: Run, what: str, yes: bool, as_json: bool) -> None:
    from ganboard.worker import removal

    output.confirm(
        f"Delete {what}, its log, images and checkpoints?",
        f"deleting {what} permanently cannot be undone. Confirm with --yes, or omit --permanently"
        " to move it to the trash.",
        yes=yes,
        as_json=as_json,
    )
    elsewhere = removal.remove(context, found.id)
    if as_json:
        output.print_json(
            {
                "id": found.id,
                "name": found.name,
                "deleted": True,
                "removed_at": None,
                "files_left_on": elsewhere,
            }
        )
    else:
        typer.echo(f"Deleted {what}.")
    if elsewhere:
        output.complain(
            f"its files remain on {', '.join(elsewhere)}, where `ganboard doctor` lists them as"
            " orphans."
        )


def undelete(run_ids: RunIds, as_json: AsJson = False) -> None:
    """Restore deleted runs from the trash, with all that they have. `ganboard runs --trash` lists
    them.

    Example:
      ganboard undelete k7m p3x
    """
    from ganboard.db.runs import queries, trash

    context = open_database()
    found = {
        run.id: run
        for run in (queries.find_run(context.engine, one, trash_too=True) for one in run_ids)
    }
    restored = [trash.restore(context.engine, run_id=one) for one in found]
    if as_json:
        from ganboard.worker.interchange.document import summaries

        return output.print_json(summaries(context, restored))
    return typer.echo("\n".join(f"Restored run {run.id}: it is {run.status}." for run in restored))
