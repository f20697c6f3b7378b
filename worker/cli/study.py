"""The commands for studies: `ganboard study` and `studies`. Thin, as those of `worker.cli.main`,
which lists them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, Changes, RunIds, find_all, open_database

if TYPE_CHECKING:
    from ganboard.db.models import Study
    from ganboard.worker.context import Context
    from ganboard.worker.studies.study import Needed, Progress

Budget = Annotated[
    str,
    typer.Option("--preset", metavar="NAME", help="What it may cost: paper, paper-small or tiny."),
]
POLL_SECONDS = 1.0


def study(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=(
                "paper, batch-size, precision-xla, scaling, schedules, showers, street, or a Python"
                " file."
            ),
        ),
    ],
    preset: Budget = "paper-small",
    changes: Changes = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", min=1, max=50, help="How often each run is repeated with another seed."
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Show progress until all runs have ended; Ctrl-C leaves them running."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the runs and the time they would take, and store nothing."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Launch the grids of runs that answer a question; the page Studies shows the figures that come
    of them.

    The same command again goes on with the same study: finished runs are used again, also those of
    other studies, stopped and failed ones resumed.

    Examples:
      ganboard study paper --preset paper-small --follow
      ganboard study batch-size --preset tiny --set dataset=digits --dry-run
      ganboard study street --preset tiny --follow
      ganboard study my_study.py
    """
    from ganboard.gan.config import parse_assignments
    from ganboard.worker.studies import study as work

    asked = work.resolve(name, preset, parse_assignments(changes or []), seeds)
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
    return typer.echo("Watch it: the same command with --follow, or the page Studies.")


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
            "There is no study yet: ganboard study paper --preset paper-small launches one."
        )
    for one, states in found:
        words = ", ".join(f"{count} {status}" for status, count in states.items()) or "no runs"
        typer.echo(f"{one.id}  {one.created_at:%Y-%m-%d %H:%M}  {one.name:<14} {words}")
    return None


def report(
    name: Annotated[
        str,
        typer.Argument(metavar="STUDY", help="A study's id, the beginning of one, or `latest`."),
    ],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Where the HTML goes; a CSV file for each figure goes beside it."
        ),
    ],
) -> None:
    """Write a study as one HTML file with figures, claims, verdicts, runs, settings and machines.

    Example:
      ganboard report latest results/paper.html
    """
    from ganboard.db import studies
    from ganboard.worker.studies import report as reports

    context = open_database()
    for path in reports.write(context, studies.find(context.engine, name), file):
        typer.echo(path)


def list_published(as_json: AsJson = False) -> None:
    """List what others published: their numbers on their hardware, to be laid beside one's own.

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


def surface(
    run_ids: RunIds,
    plane: Annotated[
        str,
        typer.Option(
            "--plane",
            help="principal: where the paths vary most; random: filter-normalised directions.",
        ),
    ] = "principal",
    size: Annotated[int, typer.Option("--size", help="Points of the grid per side, 5 to 61.")] = 21,
    images: Annotated[
        int,
        typer.Option(
            "--images", help="Images and noises at which every loss is taken, 16 to 4096."
        ),
    ] = 256,
    as_json: AsJson = False,
) -> None:
    """Compute the loss surfaces of G and D through the end of the first RUN, with the paths of all,
    for the tab Descent path of its page.

    Examples:
      ganboard surface latest
      ganboard surface 7k3 9xq --plane random --size 31
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from ganboard.db import requests
    from ganboard.db.errors import UnknownRun
    from ganboard.gan.landscape import geometry
    from ganboard.worker.requests import analysis, loop
    from ganboard.worker.terminal.formatting import make_console

    request = geometry.parse({"plane": plane, "size": size, "images": images})
    context, runs = find_all(run_ids)
    ids = [run.id for run in runs]
    asked = requests.ask(context.engine, requests.SURFACE, ids, request.model_dump())
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=make_console(), transient=True, disable=as_json) as bar:
        task = bar.add_task("waiting", total=1.0)

        def told(phase: str, done: float) -> None:
            bar.update(task, description=phase, completed=done)

        claimed = requests.claim(context.engine, requests.ANALYSES, asked)
        if claimed is not None:
            loop.answer(context, claimed, analysis.compute, told)
        # an analysis worker was quicker
        while (found := requests.find(context.engine, asked)) and found.answered_at is None:
            told(found.phase or "waiting", found.progress)
            time.sleep(POLL_SECONDS)
    if found is None:
        raise UnknownRun("The surface is gone: its run was deleted meanwhile.")
    if found.error:
        raise geometry.LandscapeError(found.error)
    assert found.result is not None
    if as_json:
        arrays = {name: array.tolist() for name, array in requests.unpack(found.result).items()}
        return output.print_json(
            {
                "id": found.id,
                "runs": [found.run_id, *found.others],
                "options": found.options,
                **found.facts,
                **arrays,
            }
        )
    shares = found.facts["shares"]
    typer.echo(
        f"Computed in {found.facts['seconds']:.0f} s; the plane holds {shares['g']:.0%} of G's way"
        f" and {shares['d']:.0%} of D's. See it: the tab Descent path of run {found.run_id}."
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


def _await_surface(context: Context, stored: Study, told: Callable[[str, float], None]) -> None:
    """Wait until the surface of Fig. 11 is computed: here when no inference worker is running,
    which would start the analysis worker."""
    from ganboard.db import requests
    from ganboard.db.runs import queries
    from ganboard.worker.requests import analysis, loop
    from ganboard.worker.studies import study as work

    while (found := work.surface(context, stored)) and found.answered_at is None:
        told(found.phase or "waiting", found.progress)
        alive = any(worker.alive for worker in queries.inference_workers(context.engine))
        if not alive and (claimed := requests.claim(context.engine, requests.ANALYSES, found.id)):
            loop.answer(context, claimed, analysis.compute, told)
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
    time = f", about {duration(sum(known))} one after another" if known else ""
    return typer.echo(f"{len(needed)} runs, {len(seconds)} to train{time}{lacking}.")


def _follow(context: Context, stored: Study, as_json: bool) -> None:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    from ganboard.worker.formatting import clean, duration
    from ganboard.worker.studies import study as work
    from ganboard.worker.terminal.formatting import make_console

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    try:
        with Progress(*columns, console=make_console(), transient=True, disable=as_json) as bar:
            task = bar.add_task(stored.title, total=1.0, left="")
            told = -1
            while not (state := work.progress(context, stored.id)).over:
                now = ", ".join(clean(run.name) for run in state.training) or "waiting for a worker"
                left = (
                    f"{state.finished + state.broken} of {state.runs} runs,"
                    f" {duration(state.seconds_left)} left: {now}"
                )
                bar.update(task, completed=state.done, left=left)
                if (
                    state.finished + state.broken != told
                    and not bar.console.is_terminal
                    and not as_json
                ):
                    told = state.finished + state.broken
                    typer.echo(
                        f"{told} of {state.runs} runs ended, {duration(state.seconds_left)} left"
                    )
                time.sleep(POLL_SECONDS)
            _await_surface(
                context,
                stored,
                lambda phase, done: bar.update(task, completed=done, left=f"loss surface: {phase}"),
            )
    except KeyboardInterrupt:
        typer.echo(
            f"\nLeft study {stored.id}: it goes on. See it: the page Studies, or ganboard studies",
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
