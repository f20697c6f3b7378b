"""The commands for stored runs: `ganboard runs`, `show`, `explain`, `stop`. Thin, as
`worker.cli.main`."""

from __future__ import annotations

from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, Columns, RunId, find, open_database


def runs(
    status: Annotated[
        list[str] | None,
        typer.Option("--status", help="Only runs with this status; can be repeated."),
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            "--search",
            metavar="TERMS",
            help="Only runs that match all terms, such as `tag:x batch_size>=128 -old`.",
        ),
    ] = "",
    archived: Annotated[
        bool, typer.Option("--archived", help="List archived runs instead.")
    ] = False,
    in_trash: Annotated[
        bool, typer.Option("--trash", help="List deleted runs instead, the last deleted first.")
    ] = False,
    column: Columns = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Maximum number of runs, newest first.")
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
      ganboard runs --column precision --column "min(fid)"
    """
    from ganboard.db.models import STATUSES
    from ganboard.db.runs import listing, queries
    from ganboard.db.runs import search as language
    from ganboard.gan.settings.metadata import all_defaults

    if unknown := set(status or ()) - set(STATUSES):
        raise typer.BadParameter(
            f"{min(unknown)!r} is not a state: choose from {', '.join(STATUSES)}.",
            param_hint="--status",
        )
    for option, given in (("--archived", archived), ("--column", column)):
        if given and in_trash:
            raise typer.BadParameter(f"Choose one of {option} and --trash.", param_hint="--trash")
    context, statuses = open_database(), tuple(status or STATUSES)
    usual = [
        run
        for run in listing.list_all(context.engine, statuses=statuses, trash=in_trash)
        if in_trash or (run.archived_at is not None) == archived
    ]
    matching = language.matching(usual, language.parse(search, all_defaults()))
    shown = matching[:limit]
    own = {}
    if column:
        from ganboard.worker.panels import columns

        own = columns.by_run(context.engine, column, shown)
    found = queries.get_runs(context.engine, [run.id for run in shown], trash_too=in_trash)
    if as_json:
        from ganboard.worker.interchange.document import summaries

        documents = summaries(context, found)
        for one in documents if column else ():
            one["columns"] = own[one["id"]]
        return output.print_json(documents)
    from ganboard.worker.terminal.runs import print_runs
    from ganboard.worker.terminal.trash import print_trash

    if in_trash:
        return print_trash(found, len(matching), queries.database_time(context.engine))
    return print_runs(found, len(matching), own)


def show(
    run_id: RunId,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="EXPRESSION",
            help="Show the values of a metric or an expression of metrics; can be repeated.",
        ),
    ] = None,
    over: Annotated[
        str,
        typer.Option(
            metavar="AXIS",
            help="Of --metric: step, epoch, images, seconds, time, or an expression.",
        ),
    ] = "step",
    metrics: Annotated[
        bool, typer.Option("--metrics", help="List the metrics that are stored of the run.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a run: state, settings, hardware, epochs, and the paths of its files; or the values of
    stored metrics (docs/panels.md).

    Examples:
      ganboard show latest
      ganboard show k7m --json
      ganboard show latest --metrics
      ganboard show latest --metric "d_loss / g_loss" --metric fid --over epoch
    """
    from ganboard.db.runs import queries

    if metric or metrics:
        return _show_metrics(run_id, metric or [], over, as_json)
    from ganboard.worker.terminal.one_run import print_run

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


def _show_metrics(run_id: str, expressions: list[str], over: str, as_json: bool) -> None:
    """The values of the expressions; the names of all metrics without any."""
    from ganboard.worker.terminal import metrics

    context, found = find(run_id)
    if not expressions and as_json:
        return output.print_json(metrics.available(context.engine, found))
    if not expressions:
        return metrics.print_available(context.engine, found)
    computed = metrics.computed(context.engine, found.id, expressions, over)
    if as_json:
        return output.print_json(metrics.document(found, over, computed))
    return metrics.print_metrics(found, over, computed)


def explain(run_id: RunId, as_json: AsJson = False) -> None:
    """Explain a run: mode collapse, an overpowering discriminator, plateaus, loss spikes, slow
    epochs, restarts; each with its epochs, the numbers it follows from, and settings for a clone.

    Examples:
      ganboard explain latest
      ganboard explain 7k3 --json
    """
    from ganboard.worker import diagnosis

    context, found = find(run_id)
    explanation = diagnosis.explained(context.engine, found)
    if as_json:
        return output.print_json(diagnosis.document(explanation))
    from ganboard.worker.terminal.explanation import print_explanation

    return print_explanation(found, explanation)


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
        else f"Run {found.id} stops after the current step."
    )
    output.changed(context, found.id, said, as_json)
