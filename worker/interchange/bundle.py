"""The files of a bundle: their manifest, and reading them under a limit and against their digests.

A bundle is a folder, or a ZIP of one, with run.json, steps.csv, grids/ and manifest.json, which
holds the digest of every file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath

import orjson
from pydantic import ValidationError

from ganboard.gan.data.archive import SafeZip
from ganboard.gan.data.dataset import DatasetError
from ganboard.worker.errors import WorkerError
from ganboard.worker.interchange.schema import MAX_FILES, Manifest

FORMAT = 1
MANIFEST = "manifest.json"
MAX_JSON = 128 << 20  # bytes of run.json or manifest.json
_FILE = re.compile(
    r"(run\.json|(epochs|steps|quality|events|samples|logged)\.csv|train\.log"
    r"|grids/(real|epoch-\d{4,8})\.png)"
)


class BadBundle(WorkerError):
    """A bundle that is refused; the message is one sentence."""


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turns what readers of the bundle at `path` raise into BadBundle, in one sentence."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))[:80]
        given = repr(first["input"])[:60]
        raise BadBundle(
            f"{path} is refused: {where} is {given}, but"
            f" {first['msg'][0].lower()}{first['msg'][1:]}."
        ) from None
    except DatasetError as error:
        raise BadBundle(str(error)) from None
    except OSError as error:
        raise BadBundle(
            f"{error.filename or path} cannot be read ({error.strerror or error}). Specify a"
            " folder or ZIP made by `ganboard export`."
        ) from None


def write_manifest(directory: Path, files: Iterable[Path]) -> Path:
    """manifest.json of an export: the SHA-256 of every file, by its place in `directory`."""
    digests = {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    path = directory / MANIFEST
    path.write_bytes(orjson.dumps({"format": FORMAT, "files": digests}, option=orjson.OPT_INDENT_2))
    return path


class Content:
    """The files of a bundle, each read under a limit and checked against its digest."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self._read: Callable[[str, int], bytes]
        if path.is_dir():
            names = self._in_folder()
            self._read = self._read_file
        else:
            archive = stack.enter_context(SafeZip(path))
            names, self._read = self._in_archive(archive)
        if MANIFEST not in names:
            raise BadBundle(
                f"{path} has no {MANIFEST}. Only exports made by this version of ganboard can be"
                " imported."
            )
        manifest = Manifest.model_validate_json(self._read(MANIFEST, MAX_JSON))
        if manifest.format != FORMAT:
            raise BadBundle(
                f"{path} has format {manifest.format}, but this ganboard reads format {FORMAT}."
                " Use the version that wrote it."
            )
        self.digests = manifest.files
        for name in (names | set(self.digests)) - {MANIFEST}:
            if not _FILE.fullmatch(name):
                raise BadBundle(f"{path} is refused: {name[:80]!r} is not a file of an export.")
            if name not in self.digests or name not in names:
                raise BadBundle(
                    f"{path} is refused: {name} is missing or not listed in its {MANIFEST}. Export"
                    " it again."
                )
        if {"run.json", "steps.csv"} - names:
            raise BadBundle(
                f"{path} is refused: run.json or steps.csv is missing. Export it again."
            )

    def read(self, name: str, limit: int) -> bytes:
        """Raises BadBundle when the digest is another one."""
        data = self._read(name, limit)
        if hashlib.sha256(data).hexdigest() != self.digests[name]:
            raise BadBundle(
                f"{self.path} is refused: {name} was modified after the export (its digest"
                " differs). Export it again."
            )
        return data

    def _in_folder(self) -> set[str]:
        names = set()
        for file in self.path.rglob("*"):
            if file.is_symlink():
                raise BadBundle(f"{self.path} is refused: {file.name[:80]!r} is a link.")
            if not file.is_dir():
                names.add(file.relative_to(self.path).as_posix())
            if len(names) > MAX_FILES:
                raise BadBundle(
                    f"{self.path} contains more than {MAX_FILES:,} files. Specify a folder written"
                    " by `ganboard export`."
                )
        return names

    def _read_file(self, name: str, limit: int) -> bytes:
        with (self.path / name).open("rb") as file:
            return self._limited(name, file.read(limit + 1), limit)

    def _in_archive(self, archive: SafeZip) -> tuple[set[str], Callable[[str, int], bytes]]:
        """Names without the folder that all of them lie in."""
        tops = {PurePosixPath(name).parts[0] for name in archive.members}
        folder = (
            f"{tops.pop()}/"
            if len(tops) == 1 and all("/" in name for name in archive.members)
            else ""
        )

        def read(name: str, limit: int) -> bytes:
            size = archive.members[folder + name].file_size
            if size > limit:
                return self._limited(name, bytes(limit + 1), limit)
            return archive.read(folder + name)

        return {name.removeprefix(folder) for name in archive.members}, read

    def _limited(self, name: str, data: bytes, limit: int) -> bytes:
        if len(data) > limit:
            raise BadBundle(
                f"{self.path} is refused: {name} is larger than the {limit:,} bytes allowed."
            )
        return data
