"""Opening the files of a run: only our own files, and no links put in their place."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

MODE = 0o644


def no_link(path: str, flags: int) -> int:
    """An `opener` that refuses a link (OSError), and does not wait at a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, MODE)


def open_inside(directory: Path, name: str) -> BufferedReader:
    """A plain file below `directory` for reading. Raises FileNotFoundError when there is none, or a
    link anywhere on the way from there."""
    root = directory.resolve()
    path = root / name
    if path.is_relative_to(root) and path.resolve() == path:
        try:
            file = open(path, "rb", opener=no_link)  # noqa: SIM115  # the caller closes it
        except FileNotFoundError:
            raise
        except OSError:  # a link, that came meanwhile, or a socket
            pass
        else:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file
            file.close()
    raise FileNotFoundError(f"{path} is not a plain file")
