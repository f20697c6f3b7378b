"""The commands of registered models: `ganboard models`. Thin, as those of `worker.cli.main`, which
lists them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, RunId, find, open_database

models_app = typer.Typer(invoke_without_command=True)

Which = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="NAME (the latest version), NAME:VERSION or NAME@ALIAS."),
]


class Fewer(StrEnum):
    INT8 = "int8"
    FLOAT16 = "float16"


@models_app.callback()
def models(context: typer.Context, as_json: AsJson = False) -> None:
    """Register, inspect, quantize and compare versions of trained generators. Without a command,
    list them, by name, the newest first.

    Examples:
      ganboard models
      ganboard models --json
    """
    if context.invoked_subcommand is not None:
        return
    from ganboard.db import versions
    from ganboard.worker.registry.output import print_versions, summary

    engine = open_database().engine
    found, aliases = versions.listed(engine), versions.aliases(engine)
    if as_json:
        output.print_json([summary(one, aliases.get(one.id, [])) for one in found])
    else:
        print_versions(found, aliases)


@models_app.command()
def add(
    run_id: RunId,
    name: Annotated[
        str,
        typer.Option(
            "--name", help="Name of the model: up to 40 characters from a-z, 0-9, dot, - and _."
        ),
    ],
    epoch: Annotated[
        int | None,
        typer.Option("--epoch", min=0, help="Epoch of the checkpoint; defaults to the latest."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Register the generator of a finished or stopped run as the next version of a model.

    Example:
      ganboard models add latest --name digits
    """
    from ganboard.worker.registry import versions as work

    context, run = find(run_id)
    _said(work.add(context, run, name, epoch), "Registered", as_json)


@models_app.command()
def publish(
    which: Which,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="URI", help="MLflow tracking URI; defaults to GANBOARD_MLFLOW_URI."
        ),
    ] = None,
) -> None:
    """Make a version the next one of MLflow's registered model of that name, with aliases,
    signature and environment.

    Examples:
      ganboard models publish digits@production --to http://127.0.0.1:5000
      mlflow models serve -m models:/digits@production --env-manager local
    """
    from ganboard.db import versions
    from ganboard.worker.registry import mlflow_sync
    from ganboard.worker.registry import publish as publishing

    context = open_database()
    found, uri = versions.find(context.engine, which), mlflow_sync.address(to, context.settings)
    number = publishing.publish(context, found, uri)
    typer.echo(
        f"{found.name}:{found.version} is version {number} of {found.name} in MLflow at {uri}."
    )
    if example := publishing.example(found.model):
        typer.echo(
            f"Query its server with: curl -H 'Content-Type: application/json' -d '{example}'"
            " http://127.0.0.1:5000/invocations"
        )


@models_app.command()
def show(which: Which, as_json: AsJson = False) -> None:
    """Show all that a version says of itself: settings, signature, lineage, quality, digests.

    Example:
      ganboard models show digits@production
    """
    from ganboard.db import versions
    from ganboard.worker.registry import versions as work
    from ganboard.worker.registry.output import print_version, summary

    context = open_database()
    found = versions.find(context.engine, which)
    manifest = work.manifest(context, found)
    aliases = versions.aliases(context.engine).get(found.id, [])
    if as_json:
        return output.print_json(summary(found, aliases) | {"manifest": manifest.model_dump()})
    return print_version(found, aliases, manifest, context.settings.model_dir(found.id))


@models_app.command()
def alias(
    which: Which,
    word: Annotated[str, typer.Argument(metavar="ALIAS", help="For example production.")],
    as_json: AsJson = False,
) -> None:
    """Let NAME@ALIAS mean this version from now on.

    Example:
      ganboard models alias digits:2 production
    """
    from ganboard.db import versions

    context = open_database()
    found = versions.find(context.engine, which)
    versions.alias(context.engine, found, word)
    _said(found, f"{found.name}@{word} is now", as_json)


@models_app.command()
def download(
    which: Which, path: Annotated[Path, typer.Argument(metavar="FILE", help="ZIP file to write.")]
) -> None:
    """Write the files of a version, with a text on how to load them, as one ZIP file.

    Example:
      ganboard models download digits@production digits.zip
    """
    from ganboard.db import versions
    from ganboard.worker.registry import download as work

    context = open_database()
    found = versions.find(context.engine, which)
    work.write(context, found, path)
    typer.echo(f"Wrote {found.name}:{found.version} to {path}.")


@models_app.command()
def remove(which: Which, as_json: AsJson = False) -> None:
    """Delete a version, its files and its aliases; it must be named by its number.

    Example:
      ganboard models remove digits:1
    """
    from ganboard.db import versions
    from ganboard.db.errors import NotAllowed
    from ganboard.worker.registry import versions as work

    if ":" not in which:
        raise NotAllowed(f"{which[:80]} is not a fixed version. Use NAME:VERSION.")
    context = open_database()
    found = versions.find(context.engine, which)
    work.remove(context, found)
    if as_json:
        return output.print_json(
            {"id": found.id, "name": found.name, "version": found.version, "removed": True}
        )
    return typer.echo(f"Removed {found.name}:{found.version}.")


@models_app.command()
def quantize(
    which: Which,
    to: Annotated[
        Fewer,
        typer.Option(
            "--to", help="Storage of the weights: int8 uses a quarter of the bytes, float16 half."
        ),
    ],
    limit: Annotated[
        float,
        typer.Option(
            "--limit", min=0, help="Maximum degradation of the model's quality metric, in percent."
        ),
    ] = 5.0,
    force: Annotated[
        bool, typer.Option("--force", help="Register it regardless of its quality.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Register a version whose weights have fewer bits, if its outputs are nearly as good.

    Example:
      ganboard models quantize digits:1 --to int8 --limit 2
    """
    from ganboard.db import versions
    from ganboard.worker.registry import versions as work

    context = open_database()
    _said(
        work.quantize(
            context, versions.find(context.engine, which), to.value, limit=limit, force=force
        ),
        "Registered",
        as_json,
    )


@models_app.command()
def compare(
    first: Which,
    second: Which,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="PNG file with outputs of both versions."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare outputs and metrics of two versions for the same inputs.

    Example:
      ganboard models compare digits:1 digits:2 --picture both.png
    """
    from ganboard.db import versions
    from ganboard.worker.registry import versions as work
    from ganboard.worker.registry.output import print_comparison

    context = open_database()
    one, other = (versions.find(context.engine, which) for which in (first, second))
    metrics = work.compare(context, one, other, picture)
    if as_json:
        return output.print_json({"first": one.id, "second": other.id, "metrics": metrics})
    return print_comparison(one, other, metrics)


def _said(version: Any, text: str, as_json: bool) -> None:
    from ganboard.worker.registry.output import summary
    from ganboard.worker.registry.standing import in_a_line

    if as_json:
        return output.print_json(summary(version, []))
    report = f" {in_a_line(version.quality)}." if version.quality else ""
    return typer.echo(
        f"{text} {version.name}:{version.version} ({version.variant}, {version.size / 1e6:.1f}"
        f" MB).{report}"
    )
