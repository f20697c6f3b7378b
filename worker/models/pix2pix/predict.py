"""The command that uses a trained pix2pix network: `ganboard predict`. Thin, as those of
`worker.cli.main`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, RunId, find

Sequences = Annotated[
    list[int] | None,
    typer.Option(
        "--sequence",
        metavar="N",
        help="Index of a flow in the data set; can be repeated. Defaults to one flow of each kind.",
    ),
]
Group = Annotated[
    int,
    typer.Option(
        "--group",
        metavar="TILES",
        help="Tiles that the network processes together; 0 means all at once.",
    ),
]


def predict(
    run_id: RunId,
    steps: Annotated[
        int,
        typer.Option("--steps", help="Number of frames to predict, each from the previous one."),
    ] = 100,
    sequence: Sequences = None,
    group: Group = 0,
    replicas: Annotated[
        int, typer.Option("--replicas", help="Devices to distribute the tiles over.")
    ] = 1,
    halo: Annotated[
        int, typer.Option("--halo", help="Pixels by which tiles overlap for context and blending.")
    ] = 0,
    xla: Annotated[bool, typer.Option("--xla", help="Compile the network with XLA.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FOLDER", help="Folder for prediction.png and prediction.json."
        ),
    ] = None,
    times: Annotated[
        bool,
        typer.Option(
            "--times", help="Benchmark training and inference by replicas and group instead."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Continue vortex streets with a pix2pix run, each frame from its last one, and compare with
    the real ones.

    A flow that was trained with, one at a Reynolds number that was held out and one past a shape
    that was, where the data have them.

    Examples:
      ganboard predict latest --steps 60 --out street
      ganboard predict 7k3 --halo 16 --group 4 --replicas 2
      ganboard predict latest --times
    """
    from ganboard.gan.models.pix2pix.prediction import prediction_request
    from ganboard.worker.models.pix2pix import output as view
    from ganboard.worker.models.pix2pix import predictions
    from ganboard.worker.terminal.progress_bar import ProgressBar

    asked = prediction_request.parse(
        {
            "steps": 1 if times else steps,
            "sequences": sequence or (),
            "group": group,
            "replicas": replicas,
            "halo": halo,
            "xla": xla,
        }
    )
    planned = predictions.plan(*find(run_id), asked)
    if out:
        view.make_folder(out)
    if times:
        from ganboard.gan.models.pix2pix.prediction import timings

        with ProgressBar("Measuring", "steps", quiet=as_json) as progress:
            measured = timings.measure(
                planned.config,
                planned.directory,
                planned.step,
                planned.frames,
                asked,
                progress.update,
            )
        return output.print_json(measured) if as_json else view.show_times(measured)
    with ProgressBar("Predicting", "steps", quiet=as_json) as progress:
        found, png = predictions.compute(planned, progress.update)
    if out:
        view.write(out, found, png)
    return output.print_json(found) if as_json else view.show(found, out)
