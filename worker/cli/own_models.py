"""The commands for models of one's own: `ganboard new model`, `ganboard check`. Thin, as those of
`worker.cli.main`, which lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson

new_app = typer.Typer(no_args_is_help=True, help="Write a template of a model of your own.")


@new_app.callback()
def _commands() -> None:
    """Keeps `model` a sub-command."""


@new_app.command()
def model(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Small letters, digits and underscores.")
    ],
    folder: Annotated[
        Path, typer.Option("--in", metavar="FOLDER", help="Where to create it.")
    ] = Path(),
) -> None:
    """Write a folder with a working model of one file and its test, to change into your own.

    Example:
      ganboard new model mygan
    """
    from ganboard.worker.scaffold import scaffold

    made = scaffold.model(name, folder)
    file = made / f"{name}.py"
    typer.echo(f"Wrote {file} and its test. Next:")
    typer.echo(f"  export GANBOARD_MODELS={made.absolute()}")
    typer.echo(f"  ganboard check {name}")
    typer.echo(f"  ganboard run --set model={name} --set dataset=digits --follow")


def check(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="A model by its name.")],
    as_json: AsJson = False,
) -> None:
    """Prove that a model keeps the promises: 2 replicas = 1, both loops, resumed = never stopped,
    XLA, three precisions, and its memory beside the estimate; some minutes on two cores.

    The exit code is 1 when a claim fails.

    Example:
      GANBOARD_MODELS=mygan ganboard check mygan
    """
    from ganboard.gan.settings import registry
    from ganboard.worker.bench.benchmark import find_hardware
    from ganboard.worker.formatting import size
    from ganboard.worker.selftest import model_claims, model_memory
    from ganboard.worker.selftest.selftest import Selftest
    from ganboard.worker.selftest.view import Lines, document

    registry.get(name)  # refuses before anything starts
    gpu = bool(find_hardware()["gpus"])
    test = Selftest(model_claims.claims(name, gpu=gpu))
    results = []
    with Lines(len(test.claims), quiet=as_json) as lines:
        for result in test.run(lines.training):
            results.append(result)
            lines.show(result)
    if not gpu and not as_json:
        typer.echo("Not checked: mixed_float16, which needs a GPU.")
    memory = model_memory.measure(name)
    if as_json:
        output.print_json({**document(results), "memory": memory})
    else:
        ratio = memory["measured"] / memory["estimated"]
        typer.echo(
            f"Memory at batch {memory['settings']['batch_size']}: estimated"
            f" {size(memory['estimated'])}, measured {size(memory['measured'])}"
            f" ({100 * (ratio - 1):+.0f} %)."
        )
    raise typer.Exit(0 if all(result.holds for result in results) else 1)
