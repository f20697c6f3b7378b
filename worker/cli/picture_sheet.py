"""`ganboard data show`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson


def show(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder, zip or .npz of pictures, or CIFAR-10's folder."
        ),
    ],
    side: Annotated[int, typer.Option("--image-size", help="Height and width in pixels.")] = 64,
    channels: Annotated[int, typer.Option("--channels", help="1 for grey, 3 for colour.")] = 3,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="PNG file of the sheet to write.")
    ] = None,
    shown: Annotated[
        int, typer.Option("--count", min=1, max=1024, help="Pictures on the sheet.")
    ] = 64,
    as_json: AsJson = False,
) -> None:
    """Read all pictures as a training would, and show on a sheet what the network will see; with
    counts, classes, sizes and unreadable files.

    Example:
      ganboard data show ~/pictures --image-size 64 --channels 3 --out sheet.png
    """
    from ganboard.gan import files
    from ganboard.gan.data import DatasetError, pictures
    from ganboard.worker.terminal.progress_bar import ProgressBar

    path = path.expanduser().absolute()
    began = time.monotonic()
    total = pictures.count(path.parent, path.name, side, channels)
    with ProgressBar("show", "pictures", quiet=as_json) as bar:
        found = pictures.sheet(
            path.parent,
            path.name,
            side,
            channels,
            shown=shown,
            progress=lambda share, phase, left: bar.update(round(share * total), total),
        )
    seconds = time.monotonic() - began
    if out:
        try:
            with files.whole_file(out, durable=False) as file:
                file.write(found.png)
        except OSError as error:
            raise DatasetError(
                f"{out} cannot be written ({error.strerror}): name a file in a folder that exists."
            ) from error
    if as_json:
        return output.print_json(
            {
                "path": str(path),
                "image_size": side,
                "channels": channels,
                "pictures": found.pictures,
                "classes": found.classes,
                "sizes": found.sizes,
                "unreadable": list(found.unreadable),
                "sheet": str(out) if out else None,
                "shown": found.shown,
                "seconds": seconds,
            }
        )
    typer.echo("\n".join(found.sentences))
    if out:
        typer.echo(f"{out} shows {found.shown:,} of them.")
    return None
