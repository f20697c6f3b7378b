"""How far the weights have moved, kept every few epochs for the descent path. Free of TensorFlow.

Moves and not weights are stored: 16 bits then hold three digits of the way, however small it is
beside the weights, and the initial weights follow from the configuration. A snapshot is only looked
at: one that is lost or damaged is a point less on a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ganboard.gan import files

NETS = ("g", "d")
FOLDER = "snapshots"  # in a run's directory

Moves = list[npt.NDArray[np.float32]]  # by trained tensor: weights minus initial weights


def due(epoch: int, epochs: int, kept: int) -> bool:
    """Whether the weights after `epoch` of `epochs` are one of the `kept` snapshots, which lie
    evenly and include the last."""
    return kept > 0 and (epochs - epoch) % -(-epochs // kept) == 0


def save(directory: Path, epoch: int, moves: Sequence[Moves]) -> None:
    """Write the moves of both nets after `epoch`. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    named = {
        f"{net}{i}": array
        for net, arrays in zip(NETS, moves, strict=True)
        for i, array in enumerate(arrays)
    }
    # what 16 bits cannot hold is infinite and left out when read
    with (
        np.errstate(over="ignore"),
        files.whole_file(directory / f"epoch-{epoch}.npz", durable=False) as file,
    ):
        np.savez(
            file,
            allow_pickle=False,
            **{name: array.astype(np.float16) for name, array in named.items()},
        )


def epochs(directory: Path) -> list[int]:
    """The epochs of which there is a snapshot, in order."""
    names = (path.stem.removeprefix("epoch-") for path in directory.glob("epoch-*.npz"))
    return sorted(int(name) for name in names if name.isascii() and name.isdigit())


def load(directory: Path, epoch: int, net: str, shapes: Sequence[tuple[int, ...]]) -> Moves | None:
    """The moves of one net, or None when they cannot be read, do not fit `shapes`, or are not
    finite."""
    try:
        # numpy leaves a damaged file open when it is to open it itself
        with (
            (directory / f"epoch-{epoch}.npz").open("rb") as opened,
            np.load(opened, allow_pickle=False) as file,
        ):
            stored = [file[f"{net}{i}"] for i in range(len(shapes))]
    except Exception:  # parsers of damaged files raise far more kinds than they document
        return None
    fits = all(
        a.shape == shape and a.dtype == np.float16 and np.isfinite(a).all()
        for a, shape in zip(stored, shapes, strict=True)
    )
    return [array.astype(np.float32) for array in stored] if fits else None
