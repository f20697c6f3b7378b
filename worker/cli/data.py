"""The commands of data sets: `ganboard data`; most are those of single models."""

from __future__ import annotations

import typer

from ganboard.worker.cli import of_models, picture_sheet

data_app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Create data sets (showers for the 3DGAN, vortex streets for pix2pix), check shower files,"
        " and show pictures."
    ),
)
for command in (*of_models.commands("data"), picture_sheet.show):
    data_app.command()(command)
