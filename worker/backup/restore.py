"""`ganboard restore`: an archive of `ganboard backup` back into an empty home, or, with --force, in
the place of what is there.

Everything is unpacked and checked beside its place first. The database is then exchanged in one
atomic step, which decides: before it the old state stands, after it the new one, and whoever opens
the home next undoes or completes what a kill has cut short (`recover`).
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_STORED

from filelock import FileLock, Timeout
from pydantic import ValidationError

from ganboard.db import migrate, transfer
from ganboard.db.errors import BadCopy, SchemaTooNew
from ganboard.db.runs import queries
from ganboard.db.settings import Settings
from ganboard.gan.checkpoint import reader
from ganboard.gan.data.archive import Limits, SafeZip
from ganboard.gan.data.dataset import DatasetError
from ganboard.worker.atomic_swap import (
    JOURNAL,
    AtomicSwap,
    RestoreRefused,
    alone_restoring,
    check_free,
    conclude,
    recover,
)
from ganboard.worker.backup.backup import DATABASE, FORMAT, MANIFEST, MAX_MEMBERS, MEMBER, Manifest
from ganboard.worker.errors import AlreadyRunning, WorkerError
from ganboard.worker.process.machine import up_lock
from ganboard.worker.terminal.progress_bar import ProgressBar

MAX_MANIFEST = 256 << 20  # bytes
# stored as they are, the disk is the limit
LIMITS = Limits(compressed=1 << 50, expanded=1 << 50, member=1 << 50, members=MAX_MEMBERS + 1)
SPARE_BYTES = 100e6


class BadBackup(WorkerError):
    """An archive that is refused; the message is one sentence."""


@dataclass(frozen=True)
class Restored:
    """What was restored; `aside` is where the old state lies, `queued` counts runs that trained
    during the backup."""

    file: str
    runs: int
    queued: int
    files: int
    lost_checkpoints: int
    channels_off: int  # of alerts
    aside: str | None
    seconds: float


def restore(
    settings: Settings, path: Path, progress: ProgressBar, *, force: bool = False
) -> Restored:
    """Put an archive's runs in place. Raises BadBackup, RestoreRefused, SchemaTooNew and the like
    before anything is changed."""
    began = time.monotonic()
    if not path.is_file():
        raise BadBackup(
            f"There is no file {path}. Specify an archive made by `ganboard backup` (use `ganboard"
            " unarchive` for archived runs)."
        )
    try:
        with SafeZip(path, LIMITS) as archive:
            return _restore(settings, archive, _manifest(archive), progress, force, began)
    except DatasetError as error:
        raise BadBackup(str(error)) from None
    except BadCopy as error:
        raise BadBackup(f"{path} is refused: {error}.") from None
    except OSError as error:
        raise RestoreRefused(
            f"{error.filename or settings.state} cannot be written ({error.strerror or error})."
            " Nothing was changed."
        ) from None


def _restore(
    settings: Settings,
    archive: SafeZip,
    manifest: Manifest,
    progress: ProgressBar,
    force: bool,
    began: float,
) -> Restored:
    settings.prepare_home()
    recover(settings)
    journal = settings.state / JOURNAL
    with ExitStack() as stack:
        stack.enter_context(_nothing_up(settings))
        keep = check_free(settings, force=force)
        _check_room(settings, archive, manifest)
        stack.enter_context(alone_restoring(settings))
        file = stack.enter_context(journal.open("x"))
        swap = None
        try:
            swap = AtomicSwap.begin(settings, file, keep=keep)
            progress.update(
                0,
                sum(member.size for member in manifest.files.values())
                + manifest.files[DATABASE].size,
            )
            _unpack(archive, manifest, swap.staging, progress)
            with transfer.open_copy(swap.staging / DATABASE) as copy:
                stored = queries.list_runs(copy, archived=True, trash_too=True)
                known = {run.id for run in stored}
                for folder in (swap.staging / "runs").iterdir():
                    if folder.name not in known:  # deleted while the backup was made
                        shutil.rmtree(folder)
                _bring_models(settings, swap.staging)
                loaded = swap.swap(copy, _checkpoints(swap.staging / "runs"), progress.advance)
        finally:
            conclude(swap, journal)
    aside = str(swap.aside) if swap.aside else None
    seconds = time.monotonic() - began
    return Restored(
        str(archive.path),
        len(loaded.runs),
        loaded.queued,
        len(manifest.files),
        loaded.lost_checkpoints,
        loaded.channels_off,
        aside,
        seconds,
    )


@contextmanager
def _nothing_up(settings: Settings) -> Iterator[None]:
    """While no `ganboard up` runs on this home, and none can be started. Raises AlreadyRunning."""
    path = up_lock(settings)
    try:
        lock = FileLock(path).acquire(blocking=False)
    except Timeout:
        raise AlreadyRunning(
            f"ganboard is running on {settings.state}. Stop it first (Ctrl-C in its terminal)."
        ) from None
    with lock:
        path.write_text("a restore")
        yield
        path.write_text("")


def _manifest(archive: SafeZip) -> Manifest:
    refused = f"{archive.path} is refused"
    if MANIFEST not in archive.members:
        raise BadBackup(
            f"{refused}: it has no {MANIFEST}, so it was not made by `ganboard backup`."
        )
    if archive.members[MANIFEST].file_size > MAX_MANIFEST:
        raise BadBackup(
            f"{refused}: its {MANIFEST} is larger than the {MAX_MANIFEST:,} bytes allowed."
        )
    try:
        manifest = Manifest.model_validate_json(archive.read(MANIFEST))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))[:80] or MANIFEST
        raise BadBackup(
            f"{refused}: {where} in its {MANIFEST} is invalid ({first['msg'][:100]})."
        ) from None
    if manifest.format != FORMAT:
        raise BadBackup(
            f"{refused}: it has format {manifest.format}, but this ganboard reads format {FORMAT}."
            " Use the version that wrote it."
        )
    if not migrate.known(manifest.revision):
        raise SchemaTooNew(
            f"{refused}: its database has schema {manifest.revision}, but this ganboard supports"
            f" schemas up to {migrate.head()}. Update ganboard."
        )
    names = set(archive.members) - {MANIFEST}
    if names != set(manifest.files) or DATABASE not in names:
        odd = min((names ^ set(manifest.files)) or {DATABASE})
        raise BadBackup(
            f"{refused}: {odd[:80]!r} is missing or not listed in its {MANIFEST}. Make a new"
            " backup."
        )
    for name, info in archive.members.items():
        if name not in (MANIFEST, DATABASE) and not MEMBER.fullmatch(name):
            raise BadBackup(f"{refused}: {name[:80]!r} is not a file of a backup.")
        if info.compress_type != ZIP_STORED:
            raise BadBackup(f"{refused}: {name[:80]!r} is compressed, but backups are not.")
    return manifest


def _check_room(settings: Settings, archive: SafeZip, manifest: Manifest) -> None:
    """The database is needed twice: as it is in the archive, and in its place."""
    needed = (
        sum(info.file_size for info in archive.members.values())
        + manifest.files[DATABASE].size
        + SPARE_BYTES
    )
    free = shutil.disk_usage(settings.state).free
    if needed > free:
        raise RestoreRefused(
            f"The restore needs {needed / 1e9:.1f} GB in {settings.state}, but only"
            f" {free / 1e9:.1f} GB are free. Free some space."
        )


def _unpack(archive: SafeZip, manifest: Manifest, staging: Path, progress: ProgressBar) -> None:
    """Every member into `staging`, each checked against its size and digest."""
    for name, promised in manifest.files.items():
        path = staging / name
        path.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with path.open("xb") as file:
            for chunk in archive.chunks(name):
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
                progress.advance(len(chunk))
        if (size, digest.hexdigest()) != (promised.size, promised.sha256):
            raise BadBackup(
                f"{archive.path} is refused: {name} was modified after the backup (its digest"
                " differs). Use another backup."
            )


def _bring_models(settings: Settings, staging: Path) -> None:
    """Moved into place at once: a version's files never change, its id is unique, and without its
    row it is not used."""
    for folder in (staging / "models").glob("*"):
        place = settings.model_dir(folder.name)
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            folder.rename(place)


def _checkpoints(runs: Path) -> set[transfer.CheckpointKey]:
    return {
        (folder.name, step, attempt)
        for folder in runs.iterdir()
        for step, attempt, _ in reader.complete(folder / "checkpoints")
    }
