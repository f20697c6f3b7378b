"""The commands that measure and prove: `ganboard bench` and `ganboard selftest`. Thin, as those of
`worker.cli.main`, which lists them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, Changes

Names = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="NAMES", help="Only these candidates or groups, separated by commas."
    ),
]
Precisions = Annotated[
    list[str] | None,
    typer.Option("--precision", help="float32 or mixed_bfloat16; defaults to both."),
]


bench_app = typer.Typer()


@bench_app.callback(invoke_without_command=True)
def bench(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="The model to train; defaults to the one that the other frameworks train.",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            "--batch", help="Images per step over all replicas; the default depends on the model."
        ),
    ] = None,
    precision: Precisions = None,
    rounds: Annotated[
        int, typer.Option("--rounds", help="Number of measurements of each candidate.")
    ] = 5,
    only: Names = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", help="Steps per measurement; defaults to about five seconds."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Bar chart to write: .html, .png or .svg."),
    ] = None,
    peer_python: Annotated[
        str,
        typer.Option(
            "--peer-python",
            envvar="GANBOARD_PEER_PYTHON",
            help="Python interpreter with PyTorch and JAX.",
            show_default=False,
        ),
    ] = sys.executable,
    changes: Changes = None,
    as_json: AsJson = False,
) -> None:
    """Measure our trainer beside the plain TensorFlow tutorial, PyTorch, JAX and the bare
    convolutions, in turns within one run.

    On MNIST where the data directory has it, else on digits. Candidates: bare, platform, xla,
    hash, fit, replicas, workers, local-sgd, recompute, start (all of them: ganboard), tutorial,
    pytorch-eager, pytorch-channels-last, pytorch-compiled (pytorch), jax, floor. Of other models,
    pix2pix and gan3d have a tutorial and PyTorch too, and the rest only ours. All rounds take about
    half an hour on a small machine; leave the machine alone meanwhile.

    Examples:
      ganboard bench --only bare,tutorial --rounds 3
      ganboard bench --model gan3d --only bare,recompute --precision float32
      ganboard bench --model gan3d --only bare,tutorial --set geometry=25x25x25
      ganboard bench --peer-python ~/torch/bin/python --plot speed.html --json > speed.json
      ganboard bench quality
    """
    if context.invoked_subcommand:
        return
    from ganboard.db.settings import Settings
    from ganboard.gan.config import ConfigError, parse_assignments
    from ganboard.worker.bench import view
    from ganboard.worker.bench.benchmark import bench as measure
    from ganboard.worker.bench.candidates import PRECISIONS, model_of_peers
    from ganboard.worker.bench.runner import Options

    if plot:
        view.check_plot(plot)
    python = shutil.which(peer_python)
    if python is None:
        raise ConfigError(f"--peer-python {peer_python}: no such program.")
    options = Options(
        model or model_of_peers(),
        batch,
        _split(precision) or PRECISIONS,
        rounds,
        _split(only),
        steps,
        python,
        parse_assignments(changes or []),
    )
    with view.Lines() as watcher:
        found = measure(Settings(), options, watcher)
    if as_json:
        output.print_json(found)
    else:
        view.show(found)
    if plot:
        typer.echo(view.plot(found, plot), err=True)


@bench_app.command()
def quality(
    recipes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECIPE]...",
            help="Presets, with changed settings after a +: paper+batch_size=128. Defaults to"
            " paper+precision=mixed_bfloat16 and mnist.",
            show_default=False,
        ),
    ] = None,
    fid: Annotated[float, typer.Option("--fid", help="The Fréchet distance to reach.")] = 5.0,
    dataset: Annotated[
        str, typer.Option("--dataset", help="What all recipes train on: a data set with labels.")
    ] = "mnist",
    seeds: Annotated[int, typer.Option("--seeds", help="Trainings of each recipe.")] = 3,
    minutes: Annotated[
        float, typer.Option("--minutes", help="Minutes of training after which an attempt ends.")
    ] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Measure the seconds of training until recipes reach a Fréchet distance, over several seeds.

    Recipes alternate, through a ganboard of their own; images are compared in the features of one
    classifier. With the default recipes 45 minutes on two cores; leave the machine alone
    meanwhile.

    Examples:
      ganboard bench quality
      ganboard bench quality mnist mnist+ema=0 --fid 2 --seeds 5 --json > quality.json
    """
    from ganboard.db.settings import Settings
    from ganboard.worker.bench import quality_view
    from ganboard.worker.bench.quality import RECIPES, QualityOptions, measure
    from ganboard.worker.bench.view import Lines

    options = QualityOptions(tuple(recipes or RECIPES), dataset, fid, seeds, minutes)
    with Lines("seed") as watcher:
        found = measure(Settings(), options, watcher)
    if as_json:
        output.print_json(found)
    else:
        quality_view.show(found)


def selftest(
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="TEXT", help="Only claims whose name contains this text."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove here and now that different ways to compute a training compute the same training; a few
    minutes on two cores.

    n replicas = 1 replica, multi-worker = mirrored, fit = custom loop, accumulated = whole batch,
    recomputed = kept, resumed = never stopped, and more: one line each, with the largest difference
    of any weight and its bound; of DCGAN, then of gan3d and pix2pix. The exit code is 1 when a
    claim fails.

    Examples:
      ganboard selftest
      ganboard selftest --only gan3d
      ganboard selftest --only replica --json
    """
    from ganboard.worker.selftest.claims import chosen
    from ganboard.worker.selftest.selftest import Selftest
    from ganboard.worker.selftest.view import Lines, document

    test = Selftest(chosen(only))
    results = []
    with Lines(len(test.claims), quiet=as_json) as lines:
        for result in test.run(lines.training):
            results.append(result)
            lines.show(result)
    if as_json:
        output.print_json(document(results))
    raise typer.Exit(0 if all(result.holds for result in results) else 1)


def _split(values: list[str] | None) -> list[str]:
    return [name.strip() for value in values or [] for name in value.split(",") if name.strip()]
