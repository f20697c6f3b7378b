"""`ganboard networks`. Thin, as the commands of `worker.cli.main`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, RunId, find


def networks(
    run_id: RunId,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New or empty directory.")],
    form: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="keras (.keras, the default), saved_model (TensorFlow) or onnx; can be repeated.",
        ),
    ] = None,
    network: Annotated[
        list[str] | None,
        typer.Option("--network", help="generator or discriminator; both by default."),
    ] = None,
    epoch: Annotated[
        int | None, typer.Option(help="Of a stored checkpoint; the newest by default.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="Of the generator: average (of runs with ema, the default of these) or training."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the trained networks of a run as files that Keras, TensorFlow or ONNX Runtime load
    without ganboard.

    Example:
      ganboard networks latest exported --format keras --format onnx
    """
    from dataclasses import asdict

    from ganboard.gan.generation.formats import NAMES
    from ganboard.worker.interchange import networks as writer
    from ganboard.worker.logs import quiet_libraries

    context, found = find(run_id)
    quiet_libraries()
    made = writer.write(
        context,
        found,
        directory,
        formats=list(dict.fromkeys(form or ["keras"])),
        names=list(dict.fromkeys(network or NAMES)),
        epoch=epoch,
        weights=weights,
        progress=lambda text: None if as_json else typer.echo(f"{text} ...", err=True),
    )
    if as_json:
        files = [{**asdict(one), "path": one.path.name} for one in made.written]
        return output.print_json(
            {
                "id": found.id,
                "epoch": made.epoch,
                "directory": str(directory.resolve()),
                "files": files,
            }
        )
    typer.echo(f"Wrote the networks of run {found.id} after epoch {made.epoch} to {directory}:")
    for file in made.written:
        typer.echo(f"  {writer.described(file)}")
    largest = max(file.difference for file in made.written)
    typer.echo(f"Largest difference from ganboard's own outputs: {largest:.1e} of the largest.")
    return None
