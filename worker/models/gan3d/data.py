"""The commands on files of showers: `ganboard data showers`, `check` and `convert`. Thin, as those
of `worker.cli.main`."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson


class LayoutName(StrEnum):
    VARIABLE = "variable"
    FIXED = "fixed"


def showers(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="HDF5 file to write; must not exist.")
    ],
    events: Annotated[int, typer.Option("--events", min=1, help="Number of showers.")] = 5000,
    layout: Annotated[
        LayoutName,
        typer.Option(
            "--layout",
            help="51x51x25 cells and angles from 60 to 120 degrees, or 25x25x25 cells and 90"
            " degrees.",
        ),
    ] = LayoutName.VARIABLE,
    energy_low: Annotated[
        float, typer.Option("--energy-low", help="Lowest electron energy in GeV, at least 2.")
    ] = 100,
    energy_high: Annotated[
        float, typer.Option("--energy-high", help="Highest electron energy in GeV, at most 500.")
    ] = 200,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**31 - 1, help="Random seed.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write showers of electrons in a tungsten-silicon calorimeter into a file as CERN's, without a
    simulation.

    Examples:
      ganboard data showers Ele_VarAngleMeas_100_200_000.h5 --events 5000
      ganboard data showers Ele_fixed.h5 --layout fixed --energy-low 10 --energy-high 500 --seed 7
    """
    from ganboard.gan.models.gan3d.data.layouts import FIXED, LAYOUTS
    from ganboard.gan.models.gan3d.data.sampler import Beam, Sampler
    from ganboard.gan.models.gan3d.data.writer import write
    from ganboard.worker.terminal.progress_bar import ProgressBar

    chosen, began = LAYOUTS[layout], time.monotonic()
    beam = Beam(energy_low, energy_high, *((90, 90) if chosen is FIXED else ()))
    with ProgressBar("showers", "events", quiet=as_json) as progress:
        size = write(file, chosen, Sampler(beam, seed=seed).events(events), events, progress.update)
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


def check(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILES...", help="HDF5 files with the same layout.")
    ],
    as_json: AsJson = False,
) -> None:
    """Read every event of files of showers as a training would, and say what they hold; the exit
    code is 1 when one cannot be used.

    Example:
      ganboard data check Ele_VarAngleMeas_100_200_*.h5
    """
    from ganboard.gan.models.gan3d.data.reader import Reader
    from ganboard.worker.formatting import plural
    from ganboard.worker.terminal.progress_bar import ProgressBar

    with (
        Reader([path.expanduser() for path in paths]) as reader,
        ProgressBar("check", "events", quiet=as_json) as progress,
    ):
        found = reader.check(progress.update)
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
        f" events in {plural(len(paths), 'file')}, {kept:,} kept by the cut ecal >"
        f" {reader.preparation.least:g}.\nEnergies {low:.1f} to {high:.1f} GeV, mean sampling"
        f" fraction {fraction:.4f}."
    )


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="TFRECORDS", help="TFRecord file of showers, in either of CERN's two layouts."
        ),
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="HDF5 file to write; must not exist.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write the showers of a TFRecord file of CERN's as HDF5, which trainings read: same cells,
    energies and angles.

    Example:
      ganboard data convert Ele_VarAngleMeas_100_200_000.tfrecords Ele_VarAngleMeas_100_200_000.h5
    """
    from ganboard.gan.models.gan3d.data import records
    from ganboard.gan.models.gan3d.data.layouts import VARIABLE
    from ganboard.gan.models.gan3d.data.writer import write
    from ganboard.worker.terminal.progress_bar import ProgressBar

    source = source.expanduser()
    events = records.count(source)
    with ProgressBar("convert", "events", quiet=as_json) as progress:
        size = write(file, VARIABLE, records.showers(source), events, progress.update)
    if as_json:
        return output.print_json({"file": str(file), "events": events, "bytes": size})
    return typer.echo(
        f"{file} holds the {events:,} showers of {source}: {size / 1e6:,.1f} MB. See: ganboard data"
        f" check {file}"
    )
