"""A store that is a folder, perhaps one that machines share: a file appears whole, once where it
must, and then lies on the disk. fsspec only looks before it writes, and writes in place."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ganboard.db.ids import new_id
from ganboard.gan import files

_UNABLE = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_READ = "import pathlib, sys; sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"


def put(source: Path, target: Path, *, once: bool) -> None:
    """Copy a file. Raises FileExistsError for a `target` that is there and must not be replaced
    (`once`), OSError."""
    is_new = not target.parent.is_dir()
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{new_id()}.tmp")
    try:
        with source.open("rb") as data, files.flushed(draft) as copy:
            shutil.copyfileobj(data, copy)
        if once:
            os.link(draft, target)  # unlike a rename it replaces nothing
        else:
            draft.replace(target)
        files.flush_directory(target.parent)
        if is_new:
            files.flush_above(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def shortcoming(place: Path) -> str | None:
    """What the file system of a new folder cannot do that `put` needs, in words. Raises
    OSError."""
    first, second, linked = (place / name for name in ("first", "second", "linked"))
    place.mkdir(parents=True)
    try:
        for path in (first, second):
            with files.flushed(path) as file:
                file.write(path.name.encode())
        files.flush_directory(place)
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
        return "cannot flush files to its disk (fsync)"
    try:
        os.link(first, linked)
    except OSError:
        return "has no hard links, without which machines could overwrite each other's files"
    with suppress(FileExistsError):
        os.link(second, linked)
        return "replaces a file that is created twice"
    try:
        second.replace(first)
    except OSError:
        return "does not let a file be renamed over another one"
    for path, expected in ((first, b"second"), (linked, b"first")):
        seen = subprocess.run([sys.executable, "-c", _READ, str(path)], capture_output=True)
        if seen.stdout != expected:
            return "does not show another process what was written"
    return None
