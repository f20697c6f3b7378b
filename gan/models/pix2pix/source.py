"""The frames that pix2pix learns from. Light: the web process counts and checks with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.data.images import resolve
from ganboard.gan.data.progress import Progress, counted, ignore
from ganboard.gan.models.pix2pix.config import Config
from ganboard.gan.models.pix2pix.flow.frames import Frames, write
from ganboard.gan.models.pix2pix.flow.recording import Recording, plan

if TYPE_CHECKING:
    from ganboard.gan.models.pix2pix.flow.examples import Examples

_CASES = plan([60, 80, 100, 120], ["circle", "square"], ["90"], diameter=6)
_LONGER = plan([], [], ["100", "rectangle:2"], diameter=6)
STREET = Recording((*_CASES, *_LONGER), (128, 64), frames=201, every=20)
FOLDER = "vortex-street"  # of dataset=vortex_street inside the data directory


def load(config: Config, data_dir: Path, progress: Progress = ignore) -> Examples:
    """The first `config.limit` pairs of the flows that are there to train with; computes STREET
    where it is absent. Raises DatasetError."""
    from ganboard.gan.models.pix2pix.flow import examples

    if config.dataset == "vortex_street" and not (folder := data_dir / FOLDER).exists():
        try:
            write(folder, STREET, counted(progress, "computing the flows"))
        except DatasetError:
            if not folder.exists():  # nor has another run computed it meanwhile
                raise
    return examples.load(frames(config, data_dir)).first(config.limit)


def count(config: Config, data_dir: Path) -> int:
    """Examples before `config.limit`."""
    if config.dataset == "vortex_street":
        return sum(not case.held_out for case in STREET.cases) * (STREET.frames - 1)
    return len(frames(config, data_dir).pairs("train"))


def check(config: Config, data_dir: Path) -> None:
    """Raises DatasetError for absent, damaged or foreign files and frames that are too small;
    values are looked at when training begins."""
    if config.dataset == "vortex_street" and not (data_dir / FOLDER).exists():
        return _large_enough(
            config, f"dataset=vortex_street has frames of {_size(STREET.grid)}", STREET.grid
        )
    held = frames(config, data_dir)
    held.pairs("train")
    if config.quality_every and all(stored.split == "train" for stored in held.manifest.sequences):
        raise DatasetError(
            "quality_every needs held-out flows, but the data have none. Create some with"
            " `ganboard data flow --held-out`, or set quality_every to 0."
        )
    return None


def frames(config: Config, data_dir: Path) -> Frames:
    """The folder of `config`. Raises DatasetError."""
    folder = (
        data_dir / FOLDER
        if config.dataset == "vortex_street"
        else resolve(data_dir, config.images_path, (), "folder")
    )
    held = Frames(folder)
    _large_enough(
        config, f"{folder} holds frames of {_size(held.manifest.grid)}", held.manifest.grid
    )
    if config.dataset == "vortex_street" and [
        (stored.obstacle, stored.reynolds) for stored in held.manifest.sequences
    ] != [(case.obstacle, case.reynolds) for case in STREET.cases]:
        raise DatasetError(
            f"{folder} holds flows other than those of dataset=vortex_street: give that folder"
            " another name and use dataset=flow with it."
        )
    return held


def _large_enough(config: Config, holds: str, grid: tuple[int, int]) -> None:
    side = config.side
    if min(grid) < side:
        raise DatasetError(
            f"{holds} cells and geometry={config.geometry} cuts squares of {side}: "
            "choose a smaller geometry, or make larger frames with `ganboard data flow --grid`."
        )


def _size(grid: tuple[int, int]) -> str:
    return f"{grid[0]}x{grid[1]}"
