"""The command that evaluates stored checkpoints: `ganboard evaluate`. Thin, as those of
`worker.cli.main`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, find_all, open_database

if TYPE_CHECKING:
    from ganboard.db.models import Request, Run
    from ganboard.worker.context import Context

POLL_SECONDS = 1.0


def evaluate(
    run_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN...", help="Run ids, prefixes of them, or `latest`."),
    ] = None,
    sweep: Annotated[
        str | None, typer.Option("--sweep", metavar="ID", help="Evaluate all runs of this sweep.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate the stored checkpoints of runs that were trained without evaluation, as training
    would have: FID and the other metrics of their models, for all pages and searches.

    All checkpoints of finished epochs later than a run's last evaluation; what is evaluated already
    is left as it is. Exits with 1 if a run cannot be evaluated.

    Examples:
      ganboard evaluate latest
      ganboard evaluate 7k3 9xq --json
      ganboard evaluate --sweep 01j9
    """
    context, runs = _chosen(run_ids or [], sweep)
    documents = []
    for run in runs:
        found = _document(context, run, _evaluated(context, run, as_json))
        documents.append(found)
        if found["error"] is not None:
            output.complain(f"run {run.id}: {found['error']}")
        elif not as_json:
            typer.echo(_line(context, found))
    if as_json:
        output.print_json({"runs": documents})
    if any(found["error"] is not None for found in documents):
        raise typer.Exit(1)


def _chosen(run_ids: list[str], sweep: str | None) -> tuple[Context, list[Run]]:
    """The named runs. Raises UnknownRun and ConfigError."""
    from ganboard.db.errors import UnknownRun
    from ganboard.db.runs import queries
    from ganboard.gan.config import ConfigError

    if bool(run_ids) == bool(sweep):
        raise ConfigError("Name the runs to evaluate, or a sweep with --sweep.")
    if not sweep:
        return find_all(run_ids)
    context = open_database()
    runs = queries.sweep_runs(context.engine, sweep)
    if not runs:
        raise UnknownRun(f"There is no sweep {sweep[:80]!r}: `ganboard runs --json` names them.")
    return context, runs


def _evaluated(context: Context, run: Run, quiet: bool) -> Request:
    """The answered request: computed here, or by an analysis worker that was quicker or that has
    the process it needs. Raises UnknownRun when the run is deleted meanwhile."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from ganboard.db import requests
    from ganboard.db.errors import UnknownRun
    from ganboard.worker.requests import analysis, evaluation, loop
    from ganboard.worker.terminal.console import make_console

    engine = context.engine
    asked = requests.ask(engine, requests.EVALUATION, [run.id], {})
    helper = analysis.AnalysisWorker(context)
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    console = make_console()
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("waiting", total=1.0)

        def on_progress(phase: str, done: float) -> None:
            bar.update(task, description=f"{run.id}: {phase}", completed=done)

        here = evaluation.fits(bool(run.config.get("xla")))
        if here and (claimed := requests.claim(engine, requests.EVALUATIONS, asked)):
            loop.answer(context, claimed, analysis.compute, on_progress)
        while (found := requests.find(engine, asked)) and found.answered_at is None:
            on_progress(found.phase or "waiting", found.progress)
            helper.ensure()
            time.sleep(POLL_SECONDS)
    if found is None:
        raise UnknownRun(f"Run {run.id} was deleted while it was evaluated.")
    return found


def _document(context: Context, run: Run, request: Request) -> dict[str, Any]:
    from ganboard.db.runs import queries
    from ganboard.worker.interchange import document

    return {
        "id": run.id,
        "name": run.name,
        "evaluated": request.facts.get("epochs", []),  # by this command
        "error": request.error,
        "quality": [document.quality(one) for one in queries.qualities(context.engine, run.id)],
    }


def _line(context: Context, found: dict[str, Any]) -> str:
    from ganboard.db.runs import queries
    from ganboard.worker.formatting import quality_summary

    last = queries.qualities(context.engine, found["id"])[-1]
    epochs = ", ".join(map(str, found["evaluated"]))
    did = f"evaluated after epoch {epochs}" if epochs else "is evaluated already"
    summary = quality_summary(last.measures)
    return f"Run {found['id']} {did}. Epoch {last.epoch}: {summary}."
