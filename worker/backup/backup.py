"""`ganboard backup`: the database and what runs and models have on disk, as one archive, without
stopping anything.

The archive is a ZIP whose members are stored as they are: ganboard.db (db/transfer.py),
runs/ID/..., models/ID/... of versions, and manifest.json with the size and SHA-256 of every other
member. Checkpoints are copied before the database, so that every run has one that is no newer than
its rows; those that the database lists by then follow, and may make the older ones needless. Logs
and snapshots come last.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Literal
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine

from ganboard.db import migrate, stats, transfer, versions
from ganboard.db.errors import BadCopy
from ganboard.db.ids import ID
from ganboard.db.models import Checkpoint
from ganboard.db.runs import queries
from ganboard.gan import files
from ganboard.gan.checkpoint import reader as checkpoints
from ganboard.gan.data.archive import CHUNK
from ganboard.gan.generation import package
from ganboard.worker.context import Context
from ganboard.worker.errors import WorkerError
from ganboard.worker.terminal.progress_bar import ProgressBar

FORMAT = 1
MANIFEST, DATABASE = "manifest.json", "ganboard.db"
MAX_MEMBERS = 500_000
# what lies below a run's folder, with plain names: no leftovers (*.tmp), nothing hidden, nothing
# that was set aside
MEMBER = re.compile(
    rf"runs/(?P<run>{ID})(/(?!aside-)[A-Za-z0-9_-][A-Za-z0-9._-]{{0,99}}){{1,5}}(?<!\.tmp)"
    rf"|models/{ID}/(manifest\.json|weights\.npz|examples\.png)",
    re.ASCII,
)


class BackupFailed(WorkerError):
    """A backup could not be written; the message is one sentence."""


class Member(BaseModel):
    """A file of the archive."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """What an archive holds, and who made it."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["ganboard backup"]
    format: int
    made_at: datetime
    ganboard: Annotated[str, Field(max_length=80)]  # version
    revision: Annotated[str, Field(max_length=32)]  # schema of the database
    runs: Annotated[int, Field(ge=0)]
    files: dict[str, Member]


@dataclass(frozen=True)
class Made:
    """A finished backup; `left_out` are files below runs/ whose names no program of ours gives."""

    file: str
    bytes: int
    runs: int
    checkpoints: int
    files: int
    left_out: int
    seconds: float


def backup(context: Context, path: Path, progress: ProgressBar) -> Made:
    """Write everything to a new archive at `path`. Raises BackupFailed; a file at `path` is never
    touched, and none is left half done."""
    began = time.monotonic()
    path = path.expanduser().absolute()
    if path.exists():
        raise BackupFailed(
            f"{path} already exists. Choose a new file name, for example with today's date."
        )
    try:
        with files.whole_file(path, mode=0o600) as file, ZipFile(file, "w", ZIP_STORED) as archive:
            made = _write(context, _Writer(archive, progress), Path(file.name))
    except BadCopy as error:
        raise BackupFailed(
            f"A backup could not be restored because {error}. See `ganboard doctor`."
        ) from None
    except OSError as error:
        raise BackupFailed(
            f"{error.filename or path} cannot be read or written ({error.strerror or error}). Fix"
            " the cause and try again."
        ) from None
    return Made(str(path), path.stat().st_size, *made, time.monotonic() - began)


class _Writer:
    """Streams files into the archive and remembers their digests."""

    def __init__(self, archive: ZipFile, progress: ProgressBar) -> None:
        self.archive, self.progress = archive, progress
        self.files: dict[str, Member] = {}

    def add(self, name: str, source: IO[bytes]) -> None:
        """Copy `source` up to the size that it has now: a log may grow meanwhile."""
        if len(self.files) >= MAX_MEMBERS:
            raise BackupFailed(
                f"There are more than {MAX_MEMBERS:,} files in runs/. Delete old runs first."
            )
        info = ZipInfo(name)
        info.external_attr = (stat.S_IFREG | 0o600) << 16
        digest, left = hashlib.sha256(), os.fstat(source.fileno()).st_size
        size = 0
        with self.archive.open(info, "w", force_zip64=True) as member:
            while left > 0 and (chunk := source.read(min(CHUNK, left))):
                left -= len(chunk)
                size += len(chunk)
                digest.update(chunk)
                member.write(chunk)
                self.progress.advance(len(chunk))
        self.files[name] = Member(size=size, sha256=digest.hexdigest())


def _write(context: Context, writer: _Writer, temporary: Path) -> tuple[int, int, int, int]:
    settings, engine, progress = context.settings, context.engine, writer.progress
    runs_dir = settings.state / "runs"
    found = (
        {p.name: p for p in sorted(runs_dir.iterdir()) if p.is_dir() and not p.is_symlink()}
        if runs_dir.is_dir()
        else {}
    )
    files = {name: list(_files(folder)) for name, folder in found.items()}
    sizes = sum(_size(path) for paths in files.values() for path in paths)
    progress.update(0, sizes + 2 * stats.statistics(engine)["bytes"])

    for name, folder in found.items():
        for _, _, checkpoint in checkpoints.complete(folder / "checkpoints"):
            _add_whole(writer, checkpoint, f"runs/{name}/checkpoints/{checkpoint.name}")

    listed, models = _add_database(writer, engine, temporary.with_suffix(".db.tmp"))
    for run_id, rows in listed:
        for row in rows:
            name = f"runs/{run_id}/checkpoints/ckpt-{row.step}-{row.attempt}"
            if f"{name}/state.npz" not in writer.files:
                _add_whole(writer, settings.state / name, name)
    for version_id in models:
        _add_whole(
            writer,
            settings.model_dir(version_id),
            f"models/{version_id}",
            {package.MANIFEST, package.WEIGHTS},
        )

    left_out = sum(_add_records(writer, folder) for folder in found.values())
    manifest = Manifest(
        kind="ganboard backup",
        format=FORMAT,
        made_at=datetime.now(UTC),
        ganboard=importlib.metadata.version("ganboard"),
        revision=migrate.head(),
        runs=len(listed),
        files=writer.files,
    )
    writer.archive.writestr(MANIFEST, manifest.model_dump_json())
    return (
        len(listed),
        sum(name.endswith("/state.npz") for name in writer.files),
        len(writer.files),
        left_out,
    )


def _add_database(
    writer: _Writer, engine: Engine, copy: Path
) -> tuple[list[tuple[str, list[Checkpoint]]], list[str]]:
    """A snapshot of the database, by way of the file `copy`; returns its runs with their
    checkpoints, and its versions of models."""
    try:
        transfer.snapshot(engine, copy, writer.progress.advance)
        with copy.open("rb") as source:
            writer.add(DATABASE, source)
        # as a restore will: what could not be read again is no backup
        with transfer.open_copy(copy) as stored:
            listed = [
                (run.id, queries.checkpoints(stored, run.id))
                for run in queries.list_runs(stored, archived=True, trash_too=True)
            ]
            return listed, [version.id for version in versions.listed(stored)]
    finally:
        for leftover in copy.parent.glob(f"{copy.name}*"):
            leftover.unlink()


def _add_records(writer: _Writer, folder: Path) -> int:
    """All of a run's folder but its checkpoints; returns how many files have names that no backup
    takes."""
    left_out = 0
    for path in _files(folder):
        member = f"runs/{folder.name}/{path.relative_to(folder).as_posix()}"
        if "/checkpoints/" in member:
            continue
        if not MEMBER.fullmatch(member):
            left_out += not path.name.endswith(".tmp")
            continue
        with suppress(FileNotFoundError), open(path, "rb", opener=_no_link) as source:
            writer.add(member, source)
    return left_out


def _add_whole(
    writer: _Writer,
    folder: Path,
    name: str,
    needed: Collection[str] = ("state.npz", "manifest.json"),
) -> None:
    """A checkpoint or version with all its files, or, when its deletion was quicker, nothing: what
    is open can be read all the same."""
    with ExitStack() as stack:
        try:
            files = [
                (path.name, stack.enter_context(open(path, "rb", opener=_no_link)))
                for path in sorted(folder.iterdir())
            ]
        except (FileNotFoundError, NotADirectoryError):
            return
        if set(needed) <= {file for file, _ in files}:
            for file, source in files:
                writer.add(f"{name}/{file}", source)


def _files(folder: Path) -> Iterator[Path]:
    """Files below `folder`, links left out; folders may vanish meanwhile."""
    for parent, _, names in os.walk(folder):
        yield from _plain(Path(parent, name) for name in sorted(names))


def _plain(paths: Iterable[Path]) -> Iterator[Path]:
    return (path for path in paths if not path.is_symlink() and path.is_file())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)
