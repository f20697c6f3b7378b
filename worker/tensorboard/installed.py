"""Whether this machine can read and write event files, and where they are. Free of TensorBoard."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from ganboard.worker.errors import WorkerError

MARK = "tfevents"  # in the name of every event file


class NotInstalled(WorkerError):
    """TensorBoard's packages are missing."""


def require() -> None:
    """Raises NotInstalled."""
    if find_spec("tensorboard") is None:
        raise NotInstalled(
            "TensorBoard is not installed on this machine. Run `pip install 'ganboard[cpu]'` (or"
            " gpu, tpu), or do without event files (tensorboard=false)."
        )


def folders(directory: Path) -> dict[Path, list[Path]]:
    """The event files below `directory` by the folder they are in, by name; links to folders are
    not followed."""
    found: dict[Path, list[Path]] = {}
    for place, subfolders, names in os.walk(directory):
        subfolders.sort()
        if files := [Path(place, name) for name in sorted(names) if MARK in name]:
            found[Path(place)] = files
    return found


def holds_event_files(path: Path) -> bool:
    """Whether a folder, or one below it, has event files, or `path` is one."""
    if path.is_dir():
        return bool(folders(path))
    return path.is_file() and MARK in path.name
