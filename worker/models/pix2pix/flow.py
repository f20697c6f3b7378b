"""The command that computes vortex streets: `ganboard data flow`. Thin, as those of
`worker.cli.main`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson

if TYPE_CHECKING:
    from ganboard.gan.models.pix2pix.flow.manifest import Stored

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="New folder for the frames.")]
Reynolds = Annotated[
    str, typer.Option("--reynolds", metavar="RE,...", help="Reynolds numbers, U D / viscosity.")
]
Shapes = Annotated[
    str,
    typer.Option(
        "--obstacle",
        metavar="SHAPE,...",
        help="circle, square, or rectangle:2 (twice as long as high).",
    ),
]
HeldOut = Annotated[
    str,
    typer.Option(
        "--held-out",
        metavar="RE|SHAPE,...",
        help="Additional shapes or Reynolds numbers held out for testing; '' for none.",
    ),
]
GridSize = Annotated[
    str,
    typer.Option(
        "--grid", metavar="LENGTHxWIDTH", help="Grid size in cells, along and across the stream."
    ),
]


def flow(
    folder: Folder,
    reynolds: Reynolds = "80,100,140,180",
    obstacle: Shapes = "circle",
    held_out: HeldOut = "120,square",
    frames: Annotated[
        int, typer.Option("--frames", help="Frames per flow; a pair is two consecutive frames.")
    ] = 501,
    grid: GridSize = "256x128",
    diameter: Annotated[
        int, typer.Option("--diameter", help="Height of the obstacle across the stream, in cells.")
    ] = 12,
    speed: Annotated[
        float, typer.Option("--speed", help="Inlet speed in cells per step; at most 0.1.")
    ] = 0.1,
    discard: Annotated[int, typer.Option("--discard", help="Steps before the first frame.")] = 4000,
    every: Annotated[int, typer.Option("--every", help="Steps between frames.")] = 40,
    seed: Annotated[
        int, typer.Option("--seed", help="Random seed for the obstacle positions.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Compute flows past obstacles and store their frames, for a pix2pix network that learns to
    continue them.

    Every Reynolds number is computed with every obstacle; what --held-out names is computed as well
    and never trained with.

    Examples:
      ganboard data flow streets
      ganboard data flow small --grid 96x48 --diameter 6 --reynolds 60,80,100 --held-out 70
    """
    from time import monotonic

    from ganboard.gan.models.pix2pix.flow import frames as storing
    from ganboard.gan.models.pix2pix.flow.recording import Recording, plan
    from ganboard.worker.terminal.progress_bar import ProgressBar

    cases = plan(
        [_number(word) for word in _words(reynolds)],
        _words(obstacle),
        _words(held_out),
        diameter=diameter,
        seed=seed,
    )
    recording = Recording(cases, _grid(grid), speed, frames, discard, every, seed)
    began = monotonic()
    with ProgressBar("Flow", "steps", quiet=as_json) as progress:
        manifest = storing.write(folder.expanduser(), recording, progress.update)
    seconds = monotonic() - began
    rows = [_row(stored) for stored in manifest.sequences]
    if as_json:
        report = {
            "folder": str(folder.expanduser().resolve()),
            "digest": manifest.digest,
            "seconds": seconds,
            "steps": recording.steps,
        }
        return output.print_json(
            {**report, "frames": manifest.frames, "grid": list(manifest.grid), "sequences": rows}
        )
    for row in rows:
        typer.echo(_line(row))
    steps = recording.steps * len(rows)
    return typer.echo(
        f"{folder} holds {len(rows)} x {frames:,} frames; {steps:,} steps in {seconds:.1f} s,"
        f" {seconds / steps * 1e3:.2f} ms each."
    )


def _row(stored: Stored) -> dict[str, Any]:
    """One flow as a person or a program reads it; Williamson's formula is for circles."""
    from ganboard.gan.models.pix2pix.flow.vortex_street import williamson

    row = {
        "obstacle": stored.obstacle.name,
        "reynolds": stored.reynolds,
        "split": stored.split,
        "tau": stored.tau,
    }
    return {
        **row,
        "strouhal": stored.strouhal,
        "williamson": williamson(stored.reynolds) if stored.shape == "circle" else None,
    }


def _line(row: dict[str, Any]) -> str:
    measured, reference = row["strouhal"], row["williamson"]
    report = "no street yet" if measured is None else f"St {measured:.3f}"
    if reference is not None:
        report += f", Williamson {reference:.3f}"
    if measured is not None and reference is not None:
        report += f" ({measured / reference - 1:+.1%})"
    return f"{row['obstacle']:<13} Re {row['reynolds']:<6g} {row['split']:<9} {report}"


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _number(text: str) -> float:
    from ganboard.gan.models.pix2pix.flow.obstacle import FlowError

    try:
        return float(text)
    except ValueError:
        raise FlowError(
            f"{text[:40]!r} is not a Reynolds number. Use numbers separated by commas, such as"
            " 80,100."
        ) from None


def _grid(text: str) -> tuple[int, int]:
    from ganboard.gan.models.pix2pix.flow.obstacle import FlowError

    length, _, width = text.partition("x")
    try:
        return int(length), int(width)
    except ValueError:
        raise FlowError(
            f"{text[:40]!r} is not a grid size. Use length and width in cells, such as 256x128."
        ) from None
