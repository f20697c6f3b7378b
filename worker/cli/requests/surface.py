"""The command that computes loss surfaces: `ganboard surface`. Thin, as those of
`worker.cli.main`."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, RunIds, find_all

if TYPE_CHECKING:
    from ganboard.db.models import Request
    from ganboard.worker.context import Context

POLL_SECONDS = 1.0


def surface(
    run_ids: RunIds,
    plane: Annotated[
        str,
        typer.Option(
            "--plane",
            help="principal: the plane in which the paths vary most; random: filter-normalized"
            " directions.",
        ),
    ] = "principal",
    size: Annotated[int, typer.Option("--size", help="Grid points per side, 5 to 61.")] = 21,
    images: Annotated[
        int,
        typer.Option(
            "--images", help="Images and latents over which each loss is averaged, 16 to 4096."
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
    from ganboard.db import requests
    from ganboard.db.errors import UnknownRun
    from ganboard.gan.landscape import geometry

    request = geometry.parse({"plane": plane, "size": size, "images": images})
    context, runs = find_all(run_ids)
    ids = [run.id for run in runs]
    asked = requests.ask(context.engine, requests.SURFACE, ids, request.model_dump())
    found = _answered(context, asked, quiet=as_json)
    if found is None:
        raise UnknownRun(
            "The surface no longer exists: its run was deleted, or the request was withdrawn."
        )
    if found.error:
        raise geometry.LandscapeError(found.error)
    assert found.result is not None
    if as_json:
        arrays = {name: array.tolist() for name, array in geometry.unpack(found.result).items()}
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
        f"Computed in {found.facts['seconds']:.0f} s; the plane explains {shares['g']:.0%} of the"
        f" variance of G's path and {shares['d']:.0%} of D's. See the Descent path tab of run"
        f" {found.run_id}."
    )
    return None


def _answered(context: Context, asked: str, *, quiet: bool) -> Request | None:
    """The request once it is answered: here, or by an analysis worker that was quicker. None when
    its run was deleted meanwhile, or the request taken back."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from ganboard.db import requests
    from ganboard.worker.requests import analysis, loop
    from ganboard.worker.terminal.console import make_console

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=make_console(), transient=True, disable=quiet) as bar:
        task = bar.add_task("waiting", total=1.0)

        def on_progress(phase: str, done: float) -> None:
            bar.update(task, description=phase, completed=done)

        claimed = requests.claim(context.engine, requests.ANALYSES, asked)
        if claimed is not None:
            with contextlib.suppress(loop.Withdrawn):  # looked for below
                loop.answer(context, claimed, analysis.compute, on_progress)
        while (found := requests.find(context.engine, asked)) and found.answered_at is None:
            on_progress(found.phase or "waiting", found.progress)
            time.sleep(POLL_SECONDS)
    return found
