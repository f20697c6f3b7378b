"""What `ganboard firstday` wrote on another machine, read in here: its runs as imported runs, its
step times as those of a machine of its own. Nothing of it is trusted: all of it is checked before
anything is stored."""

from __future__ import annotations

import hashlib
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ganboard.db import calibrations
from ganboard.db.models import Calibration, Run
from ganboard.db.runs import queries
from ganboard.db.text_validation import invisible
from ganboard.gan.data.archive import SafeZip
from ganboard.gan.devices.hardware import devices
from ganboard.worker.context import Context
from ganboard.worker.firstday.bundle import FORMAT, MACHINE, MANIFEST, REPORT
from ganboard.worker.firstday.schema import DayManifest, MachineDocument
from ganboard.worker.interchange import importer
from ganboard.worker.interchange.bundle import MAX_JSON, BadBundle, refusing
from ganboard.worker.process import machine

_RUN = re.compile(r"runs/([a-z0-9]{10})\.zip")
_NAME = 200  # characters of a machine's name


@dataclass(frozen=True)
class Imported:
    """What was stored."""

    machine: str
    runs: list[Run]
    known: list[str]  # ids of runs that are here already
    calibrations: int


def is_bundle(path: Path) -> bool:
    """Whether a file claims to be a first day's bundle; a broken one is `importer`'s to refuse."""
    with suppress(OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        if path.is_file():
            with zipfile.ZipFile(path) as archive:
                return MACHINE in archive.namelist()
    return False


def read_in(context: Context, path: Path) -> Imported:
    """Store what a bundle holds. Raises BadBundle, in one sentence, before anything is stored."""
    with refusing(path), SafeZip(path) as archive:
        digests = _manifest(archive, path)
        contents = {name: _verified(archive, name, digests[name], path) for name in digests}
        document = MachineDocument.model_validate_json(contents[MACHINE])
        checked = list(_runs(contents, path))
    name = _machine(document, path)
    new = [
        one
        for one in checked
        if queries.get_run(context.engine, one.run.id, trash_too=True) is None
    ]
    rows = [] if document.machine == _own(context) else _calibrations(document, name)
    runs = [importer.store(context, one) for one in new]
    calibrations.store(context.engine, rows)
    taken = {run.id for run in runs}
    known = [one.run.id for one in checked if one.run.id not in taken]
    return Imported(name, runs, known, len(rows))


def _manifest(archive: SafeZip, path: Path) -> dict[str, str]:
    """Digests of all files but the manifest."""
    names = set(archive.members)
    if MANIFEST not in names:
        raise BadBundle(f"{path} has no {MANIFEST}: it was cut off. Write the bundle again.")
    if archive.members[MANIFEST].file_size > MAX_JSON:
        raise BadBundle(f"{path} is refused: {MANIFEST} is larger than {MAX_JSON:,} bytes.")
    manifest = DayManifest.model_validate_json(archive.read(MANIFEST))
    if manifest.format != FORMAT:
        raise BadBundle(
            f"{path} has format {manifest.format}, but this ganboard reads format {FORMAT}. Use the"
            " version that wrote it."
        )
    for name in (names | set(manifest.files)) - {MANIFEST}:
        if name not in (MACHINE, REPORT) and not _RUN.fullmatch(name):
            raise BadBundle(f"{path} is refused: {name[:80]!r} is not a file of such a bundle.")
        if name not in manifest.files or name not in names:
            raise BadBundle(
                f"{path} is refused: {name} is missing or not listed in its {MANIFEST}. Write the"
                " bundle again."
            )
    return manifest.files


def _verified(archive: SafeZip, name: str, digest: str, path: Path) -> bytes:
    data = archive.read(name)
    if hashlib.sha256(data).hexdigest() != digest:
        raise BadBundle(
            f"{path} is refused: {name} was modified after it was written (its digest differs)."
        )
    return data


def _runs(contents: dict[str, bytes], path: Path) -> Iterator[importer.Checked]:
    """Every run, its values checked."""
    with tempfile.TemporaryDirectory(prefix="ganboard-import-") as folder:
        for name, data in contents.items():
            if not (named := _RUN.fullmatch(name)):
                continue
            file = Path(folder, Path(name).name)
            file.write_bytes(data)
            try:
                one = importer.checked(file)
            except BadBundle as error:
                raise BadBundle(str(error).replace(str(file), f"{path}: {name}")) from None
            if one.run.id != named[1]:
                raise BadBundle(f"{path} is refused: {name} holds the run {one.run.id}.")
            yield one


def _machine(document: MachineDocument, path: Path) -> str:
    """The name of that machine here: its own, its devices and its host."""
    hardware = document.hardware
    what = devices(hardware.model_dump())
    name = f"{document.machine}: {what} on {hardware.host or 'an unknown host'}"[:_NAME]
    if bad := invisible(name):
        raise BadBundle(
            f"{path} is refused: the name of its machine contains the invisible or control"
            f" character {bad}."
        )
    return name


def _own(context: Context) -> str | None:
    with suppress(OSError):
        return machine.recorded(context.settings)
    return None


def _calibrations(document: MachineDocument, name: str) -> list[Calibration]:
    now = datetime.now(UTC)
    return [
        Calibration(machine=name, imported_at=now, **one.model_dump())
        for one in document.calibrations
    ]
