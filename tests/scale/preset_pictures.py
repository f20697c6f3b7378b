"""The pictures on the cards of presets: images that finished runs of theirs generated.

    ganboard train --preset starter && ganboard train --preset mnist
    python -m tests.scale.preset_pictures

Each preset's newest finished run in GANBOARD_HOME gives a part of its last grid. Presets that take
longer have theirs from docs/images, which are such grids of earlier runs.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image
from sqlalchemy import Engine

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.db.settings import Settings
from ganboard.gan import presets
from ganboard.worker.context import open_context

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "app" / "launch" / "pictures"
TILES = 4  # in a row and in a column
SIZE = 208  # pixels: twice those on the page, for fine screens
# of docs/images: left, upper, right, lower
CROPS = {
    "pictures": ("pictures.png", (524, 0, 780, 256)),
    "showers": ("showers-compact.png", (0, 0, 400, 400)),
    "vortex_street": ("street-followed.png", (650, 240, 778, 303)),
}


def main() -> None:
    for name, (file, box) in CROPS.items():
        with Image.open(ROOT / "docs" / "images" / file) as image:
            save(image.crop(box), name)
    engine = open_context(Settings()).engine
    finished = queries.list_runs(engine, statuses=("finished",))
    for name in presets.NAMES:
        wanted = presets.load(name).model_dump(mode="json")
        run = next((run for run in finished if run.config == wanted), None)
        if run is not None and name not in CROPS:
            save(last_grid(engine, run), name)


def last_grid(engine: Engine, run: Run) -> Image.Image:
    """The upper left of a run's last grid."""
    grid = queries.grid(engine, run.id, max(queries.grid_attempts(engine, run.id)))
    assert grid is not None
    with Image.open(io.BytesIO(grid.png)) as image:
        width = image.width * min(TILES, grid.columns) // grid.columns
        height = image.height * min(TILES, grid.rows) // grid.rows
        return image.crop((0, 0, width, height))


def save(image: Image.Image, name: str) -> None:
    scale = SIZE / image.width
    smaller = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.LANCZOS
    resized = image.convert("RGB").resize((SIZE, round(scale * image.height)), smaller)
    path = FOLDER / f"{name}.webp"
    resized.save(path, "WEBP", quality=85, method=6)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
