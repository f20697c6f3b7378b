"""The commands for what people add to runs: `ganboard tag`, `note`, `archive` and `unarchive`.
Thin, as those of `worker.cli.main`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, RunId, RunIds, find, find_all

if TYPE_CHECKING:
    from ganboard.db.models import Run
    from ganboard.worker.context import Context

UNSIGNED = {"ignore_unknown_options": True}  # -word takes a tag away


def tag(
    run_id: RunId,
    changes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[+TAG|-TAG]...", help="+TAG adds a tag, -TAG removes it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show, add or remove tags of a run.

    Examples:
      ganboard tag k7m +baseline "+bfloat16 study" -old
      ganboard tag latest
    """
    from ganboard.db.errors import BadAnnotation
    from ganboard.db.runs import annotations as run_annotations

    if unsigned := next(
        (change[:80] for change in changes or () if change[:1] not in ("+", "-")), None
    ):
        raise BadAnnotation(
            f"{unsigned!r} has no sign: use +{unsigned} to add the tag, -{unsigned} to remove it."
        )
    context, found = find(run_id)
    added, removed = (
        [change[1:] for change in changes or () if change[0] == sign] for sign in "+-"
    )
    if removed:
        run_annotations.remove_tags(context.engine, run_ids=[found.id], tags=removed)
    if added:
        run_annotations.add_tags(context.engine, run_ids=[found.id], tags=added)
    tags = run_annotations.tags_of(context.engine, [found.id])[found.id]
    output.changed(
        context,
        found.id,
        f"Run {found.id} is tagged: {', '.join(tags)}" if tags else f"Run {found.id} has no tags.",
        as_json,
    )


def note(
    run_id: RunId,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT",
            help="The new note; an empty one removes it. Without TEXT the note is printed.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or write the note of a run.

    Examples:
      ganboard note k7m "Diverges after epoch 12: try beta_1=0.5"
      ganboard note k7m
    """
    from ganboard.db.runs import annotations as run_annotations
    from ganboard.db.runs import queries
    from ganboard.worker.formatting import clean

    context, found = find(run_id)
    if text is not None:
        run_annotations.write_note(
            context.engine, run_id=found.id, text=text, version=found.note_version
        )
        found = queries.find_run(context.engine, found.id)
    listed = "\n".join(clean(line) for line in (found.note or "").splitlines())
    output.changed(context, found.id, listed or f"Run {found.id} has no note.", as_json)


def archive(run_ids: RunIds, as_json: AsJson = False) -> None:
    """Hide ended runs from the default lists; nothing is deleted. `ganboard runs --archived` lists
    them.

    Example:
      ganboard archive k7m p3x
    """
    from ganboard.db.runs import annotations as run_annotations

    context, found = find_all(run_ids)
    run_annotations.archive(context.engine, run_ids=[run.id for run in found])
    _say(context, found, "Archived", as_json)


def unarchive(run_ids: RunIds, as_json: AsJson = False) -> None:
    """Show archived runs in the default lists again.

    Example:
      ganboard unarchive k7m
    """
    from ganboard.db.runs import annotations as run_annotations

    context, found = find_all(run_ids)
    run_annotations.restore(context.engine, run_ids=[run.id for run in found])
    _say(context, found, "Restored", as_json)


def _say(context: Context, runs: list[Run], done: str, as_json: bool) -> None:
    if as_json:
        from ganboard.db.runs import queries
        from ganboard.worker.interchange.document import summaries

        return output.print_json(
            summaries(context, queries.get_runs(context.engine, [run.id for run in runs]))
        )
    return typer.echo("\n".join(f"{done} run {run.id}." for run in runs))
