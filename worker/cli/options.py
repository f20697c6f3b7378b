"""Arguments that several commands take, and the runs that they name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ganboard.db.models import Run
    from ganboard.worker.context import Context

AsJson = Annotated[bool, typer.Option("--json", help="Print a single JSON document on stdout.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, a prefix of one, or `latest`.")]
RunIds = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="Run ids, prefixes of them, or `latest`.")
]


def _current(preset: str | None) -> str | None:
    from ganboard.gan import presets

    return preset and presets.current(preset)


Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help=(
            "Preset to start from: starter, mnist, paper, digits, pictures, pictures_gpu,"
            " tiny, showers, showers_tiny, vortex_street, vortex_street_256 or vortex_street_tiny."
        ),
        callback=_current,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting; can be repeated."),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name", help="Name of the run, up to 80 characters; derived from the settings by default."
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Show the runs and the estimated time without storing anything."
    ),
]
ListSettings = Annotated[
    bool,
    typer.Option(
        "--settings",
        help="List all settings and presets with defaults, ranges and descriptions, and exit.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="EXPRESSION",
        help="Show this instead of the usual numbers: a setting, a metric (its last value), or an"
        " expression such as `min(fid) * seconds`; can be repeated.",
    ),
]


def open_database(*, pooled: bool = False, create: bool = False) -> Context:
    """The context of a command; `pooled` for those that write while they train, `create` for those
    that may begin a new HOME."""
    from ganboard.worker.context import account, open_context

    return replace(open_context(pooled=pooled, create=create), user=account())


def find(run_id: str) -> tuple[Context, Run]:
    """The run that RUN names; raises UnknownRun."""
    context, (found,) = find_all([run_id])
    return context, found


def find_all(run_ids: list[str]) -> tuple[Context, list[Run]]:
    """The runs that RUN... names, each once; raises UnknownRun."""
    from ganboard.db.runs import queries

    context = open_database()
    return context, list(
        {
            run.id: run for run in (queries.find_run(context.engine, run_id) for run_id in run_ids)
        }.values()
    )
