"""The artifact store behind fsspec: a folder, a bucket of S3 or of whatever speaks its protocol, or
one of Google Cloud Storage.

Credentials are those of the libraries: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or
`AWS_SHARED_CREDENTIALS_FILE`, with `AWS_ENDPOINT_URL`; `GOOGLE_APPLICATION_CREDENTIALS`. They are
in no row, log or export.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ganboard.db.ids import new_id
from ganboard.db.settings import Settings, SettingsError
from ganboard.gan import files
from ganboard.worker.artifacts import folder
from ganboard.worker.errors import WorkerError

SCHEMES = {"file": "", "s3": "s3fs", "gs": "gcsfs"}  # with the package that each needs
_FULL = {errno.ENOSPC, errno.EDQUOT}
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.EROFS}
CHUNK = 1 << 20  # bytes that are read back at a time


class StoreError(WorkerError):
    """The store cannot be used; the message is one sentence with the remedy."""


class StoreAway(StoreError):
    """It does not answer now, and may later."""


@dataclass(frozen=True)
class Store:
    """A place for files under keys such as `runs/ID/checkpoints/ckpt-12-1/state.npz`."""

    url: str
    _fs: Any
    _root: str

    def put(self, file: Path, key: str, *, once: bool = False) -> None:
        """Store a file and read it back; the key has it whole or, after an error, is not to be
        trusted. With `once` an object that is there already stays, and must be equal. Raises
        StoreError, and FileNotFoundError where there is no such file."""
        size, digest = files.measure(file)
        with self._clear(f"{key} was not stored"):
            with suppress(FileExistsError):
                if self._is_folder:
                    folder.put(file, Path(self._path(key)), once=once)
                elif once:
                    self._fs.pipe_file(self._path(key), file.read_bytes(), mode="create")
                else:
                    self._fs.put_file(str(file), self._path(key))
            if self._measured(key) != (size, digest):
                raise StoreError(
                    f"{key} is not in the store {self.url} as it was written: it loses data, or"
                    " another program writes there. Choose another one in GANBOARD_STORE."
                )

    def get(self, key: str, file: Path) -> None:
        """Fetch an object into a new file that lies on the disk then. Raises StoreError and
        OSError."""
        with self._clear(f"{key} was not fetched"):
            try:
                source = self._fs.open(self._path(key), "rb")
            except FileNotFoundError:
                raise StoreError(f"{key} is not in the store {self.url} any more.") from None
            with source, files.flushed(file) as target:
                while part := source.read(CHUNK):
                    target.write(part)

    def remove(self, prefix: str) -> None:
        """Delete an object, or all whose keys begin with `prefix/`. Raises StoreError."""
        with self._clear(f"{prefix} was not removed"), suppress(FileNotFoundError):
            self._fs.rm(self._path(prefix), recursive=True)

    def check(self) -> None:
        """Store, read and delete something, and see that nothing is overwritten that must not be.
        Raises StoreError."""
        key = f"check/{new_id()}"
        try:
            if self._is_folder:
                self._check_folder(key)
                return
            with self._clear("a test file was not stored"):
                self._fs.pipe_file(self._path(key), b"first", mode="create")
                with suppress(FileExistsError):
                    self._fs.pipe_file(self._path(key), b"second", mode="create")
                found = self._fs.cat_file(self._path(key))
            if found == b"second":
                raise StoreError(
                    f"The store {self.url} ignores conditional writes (If-None-Match), without"
                    " which machines could overwrite each other's files. Use one that has them."
                )
            if found != b"first":
                raise StoreError(
                    f"The store {self.url} does not return what was written. Choose another one in"
                    " GANBOARD_STORE."
                )
        finally:
            with suppress(StoreError):
                self.remove(key)

    def _check_folder(self, key: str) -> None:
        with self._clear("a test file was not stored"):
            try:
                lacks = folder.shortcoming(Path(self._path(key)))
            except OSError as error:
                if error.errno not in _NO_FOLDER:
                    raise
                raise StoreError(
                    f"The folder {self.url} cannot be written ({error.strerror}). Create it where"
                    " this machine may write, or correct GANBOARD_STORE."
                ) from None
        if lacks is not None:
            raise StoreError(
                f"The folder {self.url} {lacks}. Use one on a local disk or on NFS, or a bucket, in"
                " GANBOARD_STORE."
            )

    @property
    def _is_folder(self) -> bool:
        return self.url.startswith("file:")

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"

    def _measured(self, key: str) -> tuple[int, str]:
        self._fs.invalidate_cache()
        size, digest = 0, hashlib.sha256()
        with suppress(FileNotFoundError), self._fs.open(self._path(key), "rb") as file:
            while part := file.read(CHUNK):
                size += len(part)
                digest.update(part)
        return size, digest.hexdigest()

    @contextmanager
    def _clear(self, what: str) -> Iterator[None]:
        """Errors of the libraries, which have no common base, as one sentence."""
        try:
            yield
        except StoreError:
            raise
        except FileNotFoundError as error:
            if error.filename and Path(error.filename).is_absolute():
                raise  # a file on this disk
            raise StoreError(
                f"{what[:1].upper()}{what[1:]}: {self.url} does not exist. Create it, or correct"
                " GANBOARD_STORE."
            ) from None
        except PermissionError as error:
            if "RequestTimeTooSkewed" in str(error.__cause__):  # by more than 15 minutes
                raise StoreError(
                    f"{what[:1].upper()}{what[1:]}: {self.url} refuses it, since the clock of this"
                    " machine is wrong. Synchronize it with NTP."
                ) from None
            raise StoreError(
                f"{what[:1].upper()}{what[1:]}: {self.url} refuses it. Give the credentials of this"
                " machine the right to read, write and delete there."
            ) from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                raise  # this disk
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise StoreAway(
                f"{what[:1].upper()}{what[1:]}: {self.url} does not answer ({reason}). Check it and"
                " the network; it is tried again."
            ) from error


def run_key(run_id: str, name: str) -> str:
    """Where in the store something of a run lies."""
    return f"runs/{run_id}/{name}"


def configured(settings: Settings) -> bool:
    """Whether there is a store. Raises SettingsError for one that cannot be."""
    if not settings.store:
        return False
    parts = urlsplit(settings.store)
    named = parts.path if parts.scheme == "file" else parts.netloc
    if parts.scheme not in SCHEMES or not named.strip("/") or "@" in parts.netloc or parts.query:
        raise SettingsError(
            "GANBOARD_STORE is not a store such as s3://bucket/ganboard, gs://bucket/ganboard or"
            " file:///shared/ganboard (credentials belong into the environment, not into it)."
        )
    return True


def open_store(settings: Settings) -> Store | None:
    """The store of this installation, None without one. Nothing is asked of it yet. Raises
    SettingsError and StoreError."""
    if not configured(settings):
        return None
    import fsspec

    url = settings.store.rstrip("/")
    try:
        # an instance of its own: a forked process must not share a connection
        fs, root = fsspec.core.url_to_fs(url, skip_instance_cache=True)
    except ImportError:
        package = SCHEMES[urlsplit(url).scheme]
        raise StoreError(
            f"GANBOARD_STORE={url} needs the package {package}, which is not installed: pip install"
            f" {package}."
        ) from None
    fs.use_listings_cache = False
    return Store(url, fs, str(root).rstrip("/"))
