"""The commands of data sets: `ganboard data`. Thin, as those of `worker.cli.main`, which lists
them."""

from __future__ import annotations

import os
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli import flow, output
from ganboard.worker.cli.options import AsJson

data_app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Make data sets: showers for the 3DGAN, vortex streets for pix2pix; check files of showers."
    ),
)


class LayoutName(StrEnum):
    VARIABLE = "variable"
    FIXED = "fixed"


@data_app.command()
def showers(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The HDF5 file to write; it must not exist.")
    ],
    events: Annotated[int, typer.Option("--events", min=1, help="How many showers.")] = 5000,
    layout: Annotated[
        LayoutName,
        typer.Option(
            "--layout",
            help="51x51x25 cells and angles of 60 to 120 degrees, or 25x25x25 and 90 degrees.",
        ),
    ] = LayoutName.VARIABLE,
    energy_low: Annotated[
        float, typer.Option("--energy-low", help="Least energy of the electrons in GeV, 2 or more.")
    ] = 100,
    energy_high: Annotated[
        float, typer.Option("--energy-high", help="Highest energy in GeV, up to 500.")
    ] = 200,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**31 - 1, help="Same seed, same showers.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Write showers of electrons in a tungsten-silicon calorimeter into a file as CERN's, without a
    simulation.

    Examples:
      ganboard data showers Ele_VarAngleMeas_100_200_000.h5 --events 5000
      ganboard data showers Ele_fixed.h5 --layout fixed --energy-low 10 --energy-high 500 --seed 7
    """
    from ganboard.gan.models.gan3d.layouts import FIXED, LAYOUTS
    from ganboard.gan.models.gan3d.sampler import Beam, Sampler
    from ganboard.gan.models.gan3d.writer import write
    from ganboard.worker.terminal.events_progress import watching

    chosen, began = LAYOUTS[layout], time.monotonic()
    beam = Beam(energy_low, energy_high, *((90, 90) if chosen is FIXED else ()))
    with watching("showers", quiet=as_json) as report:
        size = write(file, chosen, Sampler(beam, seed=seed).events(events), events, report)
    seconds = time.monotonic() - began
    if as_json:
        return output.print_json(
            {
                "file": str(file),
                "layout": layout,
                "events": events,
                "seed": seed,
                "bytes": size,
                "seconds": seconds,
            }
        )
    return typer.echo(
        f"{file} holds {events:,} showers of {energy_low:g} to {energy_high:g} GeV in the layout"
        f" {layout}: {size / 1e6:,.1f} MB, {seconds:.1f} s. See: ganboard data check {file}"
    )


@data_app.command()
def check(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILES...", help="HDF5 files of one layout.")
    ],
    as_json: AsJson = False,
) -> None:
    """Read every event of files of showers as a training would, and say what they hold; the exit
    code is 1 when one cannot be used.

    Example:
      ganboard data check Ele_VarAngleMeas_100_200_*.h5
    """
    from ganboard.gan.models.gan3d.reader import Reader
    from ganboard.worker.terminal.events_progress import watching

    with (
        Reader([path.expanduser() for path in paths]) as reader,
        watching("check", quiet=as_json) as report,
    ):
        found = reader.check(report)
    kept, low, high, fraction = (
        len(found.kept),
        found.energy_low,
        found.energy_high,
        found.sampling_fraction,
    )
    if as_json:
        return output.print_json(
            {
                "files": [str(path) for path in paths],
                "layout": reader.layout.name,
                "cells": list(reader.layout.shape),
                "angle": reader.angle_source,
                "events": found.events,
                "kept": kept,
                "energy_low": low,
                "energy_high": high,
                "sampling_fraction": fraction,
            }
        )
    names = {"cells": "measured from the cells"}
    return typer.echo(
        f"Layout {reader.layout.name}, {' x '.join(map(str, reader.layout.shape))} cells, angles"
        f" {names.get(reader.angle_source, f'from {reader.angle_source}')}.\n{found.events:,}"
        f" events in {len(paths):,} file{'s' * (len(paths) != 1)}, {kept:,} kept by the cut ecal >"
        f" {reader.preparation.least:g}.\nEnergies {low:.1f} to {high:.1f} GeV, mean sampling"
        f" fraction {fraction:.4f}."
    )


@data_app.command()
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="TFRECORDS", help="A TFRecord file of showers, of either of CERN's two layouts."
        ),
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The HDF5 file to write; it must not exist.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write the showers of a TFRecord file of CERN's as HDF5, which trainings read: same cells,
    energies and angles.

    Example:
      ganboard data convert Ele_VarAngleMeas_100_200_000.tfrecords Ele_VarAngleMeas_100_200_000.h5
    """
    # before TensorFlow is loaded: its start-up notes are no errors
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from ganboard.gan.models.gan3d import records
    from ganboard.gan.models.gan3d.layouts import VARIABLE
    from ganboard.gan.models.gan3d.writer import write
    from ganboard.worker.terminal.events_progress import watching

    source = source.expanduser()
    events = records.count(source)
    with watching("convert", quiet=as_json) as report:
        size = write(file, VARIABLE, records.showers(source), events, report)
    if as_json:
        return output.print_json({"file": str(file), "events": events, "bytes": size})
    return typer.echo(
        f"{file} holds the {events:,} showers of {source}: {size / 1e6:,.1f} MB. See: ganboard data"
        f" check {file}"
    )


data_app.command()(flow.flow)
