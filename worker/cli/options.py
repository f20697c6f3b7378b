"""Arguments that several commands take, and the runs that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ganboard.db.models import Run
    from ganboard.worker.context import Context

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")
]
RunId = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id, the beginning of one, or `latest`.")
]
RunIds = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="Ids of runs, beginnings of them, or `latest`."),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help=(
            "Begin with these settings: starter, paper, tiny, showers, showers_tiny, street or"
            " street_tiny."
        ),
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change one setting; may be repeated."),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        help="What the run is called, up to 80 characters; otherwise its settings name it.",
    ),
]
ListSettings = Annotated[
    bool,
    typer.Option(
        "--settings", help="List every setting and preset with default, range and reason, and exit."
    ),
]


def open_database(*, pooled: bool = False, create: bool = False) -> Context:
    """The context of a command; `pooled` for those that write while they train, `create` for those
    that may begin a new HOME."""
    from ganboard.worker.context import open_context

    return open_context(pooled=pooled, create=create)


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
