"""The profiler traces of a run, as files on this machine. Free of TensorBoard."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zipfile import ZIP_STORED, ZipFile

from ganboard.gan import profiling
from ganboard.worker.context import Context
from ganboard.worker.errors import WorkerError
from ganboard.worker.safe_files import open_inside


class NoTrace(WorkerError):
    """The run has no profiler trace here."""


class TraceFile(NamedTuple):
    name: str  # below the folder that TensorBoard is given
    size: int  # bytes


def files(context: Context, run_id: str) -> list[TraceFile]:
    """The files of all traces, by name; links are left out."""
    folder = profiling.folder(context.settings.run_dir(run_id))
    found = profiling.found(folder.parent)
    return [
        TraceFile(path.relative_to(folder).as_posix(), path.stat().st_size)
        for path in found
        if path.resolve() == folder.resolve() / path.relative_to(folder)
    ]


def opened(context: Context, run_id: str, name: str) -> BinaryIO:
    """One of `files`. Raises NoTrace."""
    try:
        return open_inside(profiling.folder(context.settings.run_dir(run_id)), name)
    except FileNotFoundError:
        raise NoTrace(f"Run {run_id} has no file {name[-80:]} on this machine.") from None


def timeline(context: Context, run_id: str) -> str:
    """The name of the newest file for Perfetto. Raises NoTrace."""
    found = [
        one.name for one in _required(context, run_id) if one.name.endswith(profiling.TIMELINE)
    ]
    if not found:
        raise NoTrace(f"The profiler trace of run {run_id} was not converted for Perfetto.")
    return found[-1]


def copy(context: Context, run_id: str, directory: Path) -> list[Path]:
    """Copy all files below `directory`, where `tensorboard --logdir` finds them; returns the new
    ones. Raises OSError."""
    made = []
    for one in files(context, run_id):
        path = directory / one.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with opened(context, run_id, one.name) as source, path.open("xb") as target:
            shutil.copyfileobj(source, target)
        made.append(path)
    return made


def pack(context: Context, run_id: str, path: Path) -> None:
    """All files as a ZIP file, which `tensorboard --logdir` can be given once it is unpacked.
    Raises NoTrace."""
    with ZipFile(path, "x", ZIP_STORED) as archive:
        for one in _required(context, run_id):
            name = f"{run_id}/{one.name}"
            with opened(context, run_id, one.name) as source, archive.open(name, "w") as target:
                shutil.copyfileobj(source, target)


def _required(context: Context, run_id: str) -> list[TraceFile]:
    found = files(context, run_id)
    if not found:
        raise NoTrace(
            f"Run {run_id} has no profiler trace on this machine: profile_steps=20:30 records one,"
            " on the machine that trains."
        )
    return found
