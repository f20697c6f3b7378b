"""The pictures of latent walls."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image

from ganboard.app.web import strips
from ganboard.db.models import Grid, Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.unit.app.web.answers import get, refused

MakeRun = Callable[..., Run]
RED, OPAQUE = (255, 0, 0), 255


def pixels(body: bytes) -> npt.NDArray[np.uint8]:
    with Image.open(io.BytesIO(body)) as picture:
        return np.asarray(picture)


def sheet(array: npt.NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PNG")
    return buffer.getvalue()


def test_a_column_for_each_grid_and_a_row_for_each_latent(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run(epochs=2)
    address = f"/api/runs/{run.id}/strips.png"
    answer = get(f"{address}?grids=0.1,-,2.1&size=28&first=3&count=4")
    assert answer.headers["cache-control"].endswith("immutable")
    found = pixels(answer.body)
    assert found.shape == (4 * 28, 3 * 28, 4)
    stored = queries.grid(context.engine, run.id, 2)
    assert stored is not None
    grid = np.asarray(Image.open(io.BytesIO(stored.png)))
    # images 3 and 4 of a grid of 4 x 4: the last of the first row, the first of the second one
    assert np.array_equal(found[:28, 56:, 0], grid[:28, 84:])
    assert np.array_equal(found[28:56, 56:, 0], grid[28:56, :28])
    assert (found[:, 28:56] == 0).all()  # an empty column is transparent
    assert (found[:, :28, 3] == OPAQUE).all()


def test_only_what_is_there_may_be_kept_for_good(make_run: MakeRun) -> None:
    run = make_run(epochs=1)
    address = f"/api/runs/{run.id}/strips.png?size=8&count=2&grids="
    assert get(f"{address}1.2").headers["cache-control"] == "no-cache"  # drawn by another attempt
    answer = get(f"{address}1.1,7.1")
    assert answer.headers["cache-control"] == "no-cache"
    assert (pixels(answer.body)[:, 8:] == 0).all()


def test_images_keep_their_shape_and_never_mix() -> None:
    # two rows of three images, 4 high and 2 wide: all black but the fourth
    array = np.zeros((8, 6, 3), np.uint8)
    array[4:, :2] = RED
    grid = Grid(run_id="a", epoch=1, attempt=1, rows=2, columns=3, png=sheet(array))
    found = strips.images(grid, 2, 2, 6)
    assert found.shape == (6, 2, 2, 4)
    assert (found[1, :, 0] == (*RED, OPAQUE)).all()
    assert (found[:, :, 1] == 0).all()  # half as wide as high
    assert (found[[0, 2, 3], :, 0] == (0, 0, 0, OPAQUE)).all()
    assert (found[4:] == 0).all()  # the grid has six
    assert not strips.images(grid, 2, 6, 2).any()


def test_addresses_are_checked(make_run: MakeRun) -> None:
    address = f"/api/runs/{make_run().id}/strips.png"
    assert "such as 5.1" in refused(f"{address}?grids=1", 400)
    assert "such as 5.1" in refused(f"{address}?grids=9999999999.1", 400)
    assert "at most 64" in refused(f"{address}?grids={','.join(['1.1'] * 65)}", 400)
    assert "from 1 to 512" in refused(f"{address}?grids=1.1&size=513", 400)
    assert "from 1 to 256" in refused(f"{address}?grids=1.1&count=0", 400)
    assert "too large" in refused(f"{address}?grids=1.1,2.1&size=512&count=64", 400)
    refused("/api/runs/2345678abc/strips.png?grids=1.1", 404)
