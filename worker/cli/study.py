"""The commands for studies: `ganboard study` and `studies`. Thin, as those of `worker.cli.main`,
which lists them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, Changes, DryRun, open_database

if TYPE_CHECKING:
    from ganboard.db.models import Study
    from ganboard.worker.context import Context
    from ganboard.worker.studies.study import Needed, Progress

Budget = Annotated[
    str,
    typer.Option("--preset", metavar="NAME", help="Size of the study: paper, paper-small or tiny."),
]
POLL_SECONDS = 1.0


def study(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=(
                "Name (paper, batch-size, precision-xla, scaling, schedules, showers,"
                " vortex_street) or a Python file."
            ),
        ),
    ],
    preset: Budget = "paper-small",
    changes: Changes = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", min=1, max=50, help="Number of repetitions of each run with different seeds."
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Show progress until all runs end; Ctrl-C leaves them running."
        ),
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Launch the sweeps of a study; the Studies page shows the results. Re-running the command
    resumes the study: finished runs are reused, including those of other studies; stopped and
    failed runs are resumed.

    Examples:
      ganboard study paper --preset paper-small --follow
      ganboard study batch-size --preset tiny --set dataset=digits --dry-run
      ganboard study vortex_street --preset tiny --follow
      ganboard study my_study.py
    """
    from ganboard.gan.config import parse_assignments
    from ganboard.worker.studies import study as work
    from ganboard.worker.studies.definition import resolve

    asked = resolve(name, preset, parse_assignments(changes or []), seeds)
    context = open_database(create=True)
    if dry_run:
        return _dry(work.examine(context, asked), as_json)
    stored, queued = work.launch(context, asked)
    if follow:
        return _follow(context, stored, as_json)
    state = work.progress(context, stored.id)
    if as_json:
        return output.print_json(_document(stored, state))
    typer.echo(
        f"Study {stored.id}: {stored.title}. {state.runs} runs, {state.finished} finished,"
        f" {len(queued)} queued now."
    )
    return typer.echo("Follow it with --follow, or on the Studies page.")


def list_studies(as_json: AsJson = False) -> None:
    """List the studies that were launched, newest first.

    Example:
      ganboard studies
    """
    from ganboard.db import studies as stored

    found = stored.listed(open_database().engine)
    if as_json:
        return output.print_json(
            [
                {
                    "id": one.id,
                    "name": one.name,
                    "title": one.title,
                    "created_at": one.created_at,
                    "runs": states,
                }
                for one, states in found
            ]
        )
    if not found:
        return typer.echo(
            "There is no study yet. Launch one with: ganboard study paper --preset paper-small"
        )
    for one, states in found:
        text = ", ".join(f"{count} {status}" for status, count in states.items()) or "no runs"
        typer.echo(f"{one.id}  {one.created_at:%Y-%m-%d %H:%M}  {one.name:<14} {text}")
    return None


def list_published(as_json: AsJson = False) -> None:
    """List published reference results, with the hardware they were measured on.

    Example:
      ganboard published --json
    """
    from ganboard.gan.studies import reference_results

    if as_json:
        return output.print_json(
            {
                "documents": {name: vars(one) for name, one in reference_results.DOCUMENTS.items()},
                "references": [vars(one) for one in reference_results.REFERENCES],
            }
        )
    for name, document in reference_results.DOCUMENTS.items():
        typer.echo(f"{document.title}. {document.where}. {document.system}.")
        for one in reference_results.REFERENCES:
            if one.document == name:
                batch = f"batch {one.batch}" if one.batch else ""
                over = f"over {one.baseline}" if one.baseline else ""
                typer.echo(
                    f"  {one.devices:>4} x {one.device:<10} {batch:<12} {one.value:>9,.4g}"
                    f" {one.unit} {over} {one.note}".rstrip()
                )
    return None


def _document(stored: Study, state: Progress) -> dict[str, Any]:
    return {
        "id": stored.id,
        "name": stored.name,
        "title": stored.title,
        "runs": state.runs,
        "finished": state.finished,
        "broken": state.broken,
        "done": state.done,
        "seconds_left": state.seconds_left,
    }


def _await_surface(
    context: Context, stored: Study, on_progress: Callable[[str, float], None]
) -> None:
    """Wait until the surface of Fig. 11 is computed: here when no inference worker is running,
    which would start the analysis worker."""
    from ganboard.db import heartbeats, requests
    from ganboard.worker.requests import analysis, loop
    from ganboard.worker.studies import study as work

    while (found := work.surface(context, stored)) and found.answered_at is None:
        on_progress(found.phase or "waiting", found.progress)
        alive = any(worker.alive for worker in heartbeats.inference_workers(context.engine))
        if not alive and (claimed := requests.claim(context.engine, requests.ANALYSES, found.id)):
            with contextlib.suppress(loop.Withdrawn):  # somebody took it back
                loop.answer(context, claimed, analysis.compute, on_progress)
        else:
            time.sleep(POLL_SECONDS)


def _dry(needed: list[Needed], as_json: bool) -> None:
    from ganboard.worker.formatting import duration

    seconds = [one.member.seconds() for one in needed if not one.run_id]
    known = [value for value in seconds if value is not None]
    if as_json:
        runs = [
            {
                "name": one.member.name,
                "parts": one.parts,
                "run": one.run_id,
                "seconds": one.member.seconds(),
            }
            for one in needed
        ]
        return output.print_json(
            {"count": len(needed), "missing": len(seconds), "seconds": sum(known), "runs": runs}
        )
    for one in needed:
        typer.echo(
            f"{one.member.name:<60}"
            f" {'finished: ' + one.run_id if one.run_id else duration(one.member.seconds())}"
        )
    lacking = (
        f", {len(seconds) - len(known)} of unknown length" if len(known) < len(seconds) else ""
    )
    time = f", about {duration(sum(known))} in sequence" if known else ""
    return typer.echo(f"{len(needed)} runs, {len(seconds)} to train{time}{lacking}.")


def _follow(context: Context, stored: Study, as_json: bool) -> None:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    from ganboard.worker.formatting import clean, duration
    from ganboard.worker.studies import study as work
    from ganboard.worker.terminal.console import make_console

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    try:
        with Progress(*columns, console=make_console(), transient=True, disable=as_json) as bar:
            task = bar.add_task(stored.title, total=1.0, left="")
            on_progress = -1
            while not (state := work.progress(context, stored.id)).over:
                now = ", ".join(clean(run.name) for run in state.training) or "waiting for a worker"
                left = (
                    f"{state.finished + state.broken} of {state.runs} runs,"
                    f" {duration(state.seconds_left)} left: {now}"
                )
                bar.update(task, completed=state.done, left=left)
                if (
                    state.finished + state.broken != on_progress
                    and not bar.console.is_terminal
                    and not as_json
                ):
                    on_progress = state.finished + state.broken
                    typer.echo(
                        f"{on_progress} of {state.runs} runs ended, {duration(state.seconds_left)}"
                        " left"
                    )
                time.sleep(POLL_SECONDS)
            _await_surface(
                context,
                stored,
                lambda phase, done: bar.update(task, completed=done, left=f"loss surface: {phase}"),
            )
    except KeyboardInterrupt:
        typer.echo(
            f"\nLeft study {stored.id}: it continues. See it: the page Studies, or ganboard"
            " studies",
            err=True,
        )
        raise typer.Exit(output.INTERRUPTED) from None
    if as_json:
        output.print_json(_document(stored, state))
    else:
        typer.echo(
            f"Study {stored.id}: {state.finished} of {state.runs} runs finished, {state.broken}"
            " stopped or failed."
        )
    raise typer.Exit(1 if state.broken else 0)
