"""Which files of showers are to train with, and which to test with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def particle(path: Path) -> str:
    """The particle that a file's name begins with: Ele_VarAngleMeas_100_200_001.h5 and
    EleEscan_1_1.h5 are both Ele."""
    return path.stem.split("_")[0].removesuffix("Escan")


def split(paths: Sequence[Path], test_share: float = 0.1) -> tuple[list[Path], list[Path]]:
    """Files to train and to test with: of every particle the last share by name, at least one where
    there are two or more.

    A particle with one file has it for training, and nothing to test with.
    """
    train: list[Path] = []
    test: list[Path] = []
    for name in sorted({particle(path) for path in paths}):
        files = sorted(path for path in paths if particle(path) == name)
        count = max(1, round(test_share * len(files))) if len(files) > 1 else 0
        train += files[: len(files) - count]
        test += files[len(files) - count :]
    return train, test
