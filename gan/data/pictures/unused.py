"""Caches of pictures that no run has opened for long, and what killed processes left of others."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ganboard.gan import files
from ganboard.gan.data.pictures.cache import MANIFEST, TEMPORARY

DAYS = 30.0  # without use, after which a cache is freed


@dataclass(frozen=True)
class Kept:
    """A cache on the disk."""

    path: Path
    size: int  # bytes
    days: float  # since it was last opened; of one that is not whole, since it was last written

    @property
    def whole(self) -> bool:
        return self.path.suffix != TEMPORARY

    @property
    def unused(self) -> bool:
        """Whether it is to be freed, unless a process is making it just now."""
        return self.days > DAYS or not self.whole


def kept(cache_dir: Path) -> list[Kept]:
    """All caches in `cache_dir`, by name."""
    found = []
    for path in sorted(cache_dir.iterdir()) if cache_dir.is_dir() else []:
        if path.is_symlink() or not path.is_dir():
            continue
        stats = {file.name: os.lstat(file) for file in path.iterdir()}
        if path.suffix != TEMPORARY and MANIFEST not in stats:
            continue  # not ours
        newest = max([stat.st_mtime for stat in stats.values()], default=path.stat().st_mtime)
        used = stats[MANIFEST].st_mtime if MANIFEST in stats else newest
        size = sum(stat.st_size for stat in stats.values())
        found.append(Kept(path, size, (time.time() - used) / 86_400))
    return found


def free(cache: Kept) -> bool:
    """Delete a cache, unless a process makes or verifies it. A run that reads from it keeps what it
    has opened."""
    name = cache.path.name.removesuffix(TEMPORARY)
    try:
        with FileLock(cache.path.with_name(f"{name}.lock"), timeout=0):
            files.remove(cache.path)
    except (Timeout, OSError):
        return False
    return not cache.path.exists()
