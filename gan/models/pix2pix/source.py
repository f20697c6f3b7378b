"""The frames that pix2pix learns from. Light: the web process counts and checks with it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.data.images import resolve
from ganboard.gan.data.progress import Progress, counted, ignore
from ganboard.gan.models.pix2pix.config import Config
from ganboard.gan.models.pix2pix.flow.frames import Frames, write
from ganboard.gan.models.pix2pix.flow.recording import DISCARD, Recording, plan

if TYPE_CHECKING:
    from ganboard.gan.models.pix2pix.flow.examples import Examples

FOLDER = "vortex-street"  # of dataset=vortex_street inside the data directory


@cache
def street(side: int) -> Recording:
    """The flows of dataset=vortex_street for windows of this side: on finer grids the same streets
    at the same times, but at 256, where each takes 16 times the memory, half as long and no
    squares."""
    finer = side // 64
    diameter, numbers = 6 * finer, [60.0, 80.0, 100.0, 120.0]
    shapes = ["circle"] if finer == 4 else ["circle", "square"]
    cases = plan(numbers, shapes, ["90"], diameter=diameter)
    if finer < 4:
        cases = (*cases, *plan([], [], ["100", "rectangle:2"], diameter=diameter))
    return Recording(
        cases,
        (2 * side, side),
        frames=101 if finer == 4 else 201,
        discard=max(DISCARD, DISCARD * finer // 2),
        every=20 * finer,
    )


def load(config: Config, data_dir: Path, progress: Progress = ignore) -> Examples:
    """The first `config.limit` pairs of the flows that are there to train with; computes those of
    dataset=vortex_street where they are absent. Raises DatasetError."""
    from ganboard.gan.models.pix2pix.flow import examples

    if config.dataset == "vortex_street" and not (folder := _folder(config, data_dir)).exists():
        try:
            write(folder, street(config.side), counted(progress, "computing the flows"))
        except DatasetError:
            if not folder.exists():  # nor has another run computed it meanwhile
                raise
    return examples.load(frames(config, data_dir), config.history).first(config.limit)


def count(config: Config, data_dir: Path) -> int:
    """Examples before `config.limit`."""
    if config.dataset == "vortex_street":
        planned = street(config.side)
        return sum(not case.held_out for case in planned.cases) * (planned.frames - config.history)
    return len(frames(config, data_dir).pairs("train", history=config.history))


def check(config: Config, data_dir: Path) -> None:
    """Raises DatasetError for absent, damaged or foreign files and frames that are too small;
    values are looked at when training begins."""
    if config.dataset == "vortex_street" and not _folder(config, data_dir).exists():
        return
    held = frames(config, data_dir)
    held.pairs("train", history=config.history)
    if config.padding == "channel" and held.manifest.grid[1] != config.side:
        raise DatasetError(
            f"padding=channel needs windows as high as the frames, and {held.folder} has frames of"
            f" {_size(held.manifest.grid)} where geometry={config.geometry} is {config.side} high:"
            " set padding to edge, or use frames of that height."
        )
    if config.quality_every and all(stored.split == "train" for stored in held.manifest.sequences):
        raise DatasetError(
            "quality_every needs held-out flows, but the data have none. Create some with"
            " `ganboard data flow --held-out`, or set quality_every to 0."
        )


def frames(config: Config, data_dir: Path) -> Frames:
    """The folder of `config`. Raises DatasetError."""
    folder = (
        _folder(config, data_dir)
        if config.dataset == "vortex_street"
        else resolve(data_dir, config.images_path, (), "folder")
    )
    held = Frames(folder)
    _large_enough(
        config, f"{folder} holds frames of {_size(held.manifest.grid)}", held.manifest.grid
    )
    if config.dataset == "vortex_street" and [
        (stored.obstacle, stored.reynolds) for stored in held.manifest.sequences
    ] != [(case.obstacle, case.reynolds) for case in street(config.side).cases]:
        raise DatasetError(
            f"{folder} holds flows other than those of dataset=vortex_street: give that folder"
            " another name and use dataset=flow with it."
        )
    return held


def _folder(config: Config, data_dir: Path) -> Path:
    return data_dir / (FOLDER if config.side == 64 else f"{FOLDER}-{config.side}")


def _large_enough(config: Config, holds: str, grid: tuple[int, int]) -> None:
    side = config.side
    if min(grid) < side:
        raise DatasetError(
            f"{holds} cells and geometry={config.geometry} cuts squares of {side}: "
            "choose a smaller geometry, or make larger frames with `ganboard data flow --grid`."
        )


def _size(grid: tuple[int, int]) -> str:
    return f"{grid[0]}x{grid[1]}"
