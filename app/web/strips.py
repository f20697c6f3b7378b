"""Pictures of latent walls: a column for each grid, and below each other the images of its first
latents."""

from __future__ import annotations

import io
import re

import numpy as np
import numpy.typing as npt
from PIL import Image
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ganboard.app.web.api import FOREVER, BadRequest, number, responding, run_of
from ganboard.db.curves import grids
from ganboard.db.models import Grid
from ganboard.worker.context import Context

MAX_GRIDS = 64  # of one picture
MAX_SIZE = 512  # pixels of an image in it
MAX_LATENTS = 256  # as many as a grid has at most
MAX_PIXELS = 1 << 24
_GRID = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)


@responding
def strips(context: Context, request: Request) -> Response:
    """`grids` names epoch and attempt of each column, "0.1,5.1,-" with - for an empty one; of each
    `count` latents from `first` on, every one `size` x `size` pixels, transparent where there is
    none.

    With the attempts that drew its grids the address means one picture for good.
    """
    run, given = run_of(context, request), request.query_params
    asked = given.get("grids", "").split(",")
    if len(asked) > MAX_GRIDS:
        raise BadRequest(f"grids names {len(asked):,} grids: at most {MAX_GRIDS} are allowed.")
    columns = [_grid(text) for text in asked]
    size = number(given.get("size", "28"), "size", 1, MAX_SIZE)
    first = number(given.get("first", "0"), "first", 0, MAX_LATENTS)
    count = number(given.get("count", "16"), "count", 1, MAX_LATENTS)
    if len(columns) * count * size**2 > MAX_PIXELS:
        raise BadRequest(
            f"{len(columns)} grids of {count} images of {size} pixels are too large for one"
            f" picture, which has at most {MAX_PIXELS:,} pixels: ask for fewer."
        )
    named = {column[0]: column[1] for column in columns if column}
    found = grids.of_epochs(context.engine, run.id, named)
    picture = np.zeros((count, size, len(columns), size, 4), np.uint8)
    for place, column in enumerate(columns):
        if column and (grid := found.get(column[0])):
            picture[:, :, place] = images(grid, size, first, count)
    buffer = io.BytesIO()
    Image.fromarray(picture.reshape(count * size, -1, 4)).save(buffer, "PNG", compress_level=1)
    lasting = {epoch: grid.attempt for epoch, grid in found.items()} == named
    headers = {
        "Cache-Control": FOREVER if lasting else "no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(buffer.getvalue(), media_type="image/png", headers=headers)


def images(grid: Grid, size: int, first: int, count: int) -> npt.NDArray[np.uint8]:
    """`count` images of a grid from number `first` on, row by row: RGBA [count, size, size, 4],
    each as large as fits; transparent around it and where the grid has no more."""
    with Image.open(io.BytesIO(grid.png), formats=["PNG"]) as opened:
        sheet = np.asarray(opened.convert("RGB"))
    height, width = sheet.shape[0] // grid.rows, sheet.shape[1] // grid.columns
    sheet = sheet[: height * grid.rows, : width * grid.columns]
    apart = sheet.reshape(grid.rows, height, grid.columns, width, 3).swapaxes(1, 2)
    chosen = apart.reshape(-1, height, width, 3)[first : first + count]
    found = np.zeros((count, size, size, 4), np.uint8)
    if not len(chosen):
        return found
    high = max(1, round(height * size / max(height, width)))
    wide = max(1, round(width * size / max(height, width)))
    # a box never mixes an image with the next one of the strip
    sampling = Image.Resampling.BOX if high < height else Image.Resampling.NEAREST
    strip = Image.fromarray(chosen.reshape(-1, width, 3)).resize(
        (wide, high * len(chosen)), sampling
    )
    top, left = (size - high) // 2, (size - wide) // 2
    place = found[: len(chosen), top : top + high, left : left + wide]
    place[..., :3] = np.asarray(strip).reshape(len(chosen), high, wide, 3)
    place[..., 3] = 255
    return found


def _grid(text: str) -> tuple[int, int] | None:
    """Epoch and attempt of a column; None for an empty one."""
    if text == "-":
        return None
    if not (parts := _GRID.fullmatch(text)) or int(parts[1]) >= 2**31:
        raise BadRequest(
            f"{text[:40]!r} is not a grid: write its epoch and attempt, such as 5.1, or -."
        )
    return int(parts[1]), int(parts[2])


ROUTES = [Route("/api/runs/{run}/strips.png", strips)]
