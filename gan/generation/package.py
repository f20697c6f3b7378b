"""A version of a model as a folder: `weights.npz`, and `manifest.json`, which says what it is and
where it comes from. Free of TensorFlow.

    ID/weights.npz      variables of the generator by path; quantized ones with
                        their scales (`gan.generation.quantization`)
    ID/examples.png     what it makes of a few inputs
    ID/manifest.json    settings, signature, lineage, quality, size and SHA-256 of the weights

Like a checkpoint it is written aside, flushed and renamed; whoever lists it keeps the manifest's
digest, and loading believes nothing else.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ganboard.gan import files
from ganboard.gan.generation.quantization import Arrays, Variant

MANIFEST, WEIGHTS, PICTURE = "manifest.json", "weights.npz", "examples.png"
CONTENTS = (WEIGHTS, PICTURE)  # beside the manifest


class VersionError(Exception):
    """A version that cannot be made, loaded or accepted; the message is one sentence."""


class File(BaseModel):
    size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """What a version is; `ganboard models show` prints all of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    id: str
    name: str
    variant: Variant
    parent_id: str | None  # the version that was quantized
    config: dict[str, Any]  # of the run
    signature: dict[str, Any]  # of requests and answers: names, shapes, types, ranges
    run_id: str
    attempt: int
    epoch: int
    step: int
    checkpoint: str  # SHA-256 of its manifest, as the database lists it
    # SHA-256 of the data set as it lay there when the run's generator was registered; None: it did
    # not
    data: str | None
    versions: dict[str, str]  # of everything that decides bits
    commit: str | None  # of ganboard's source, where that is a checkout
    quality: dict[str, float]
    files: dict[str, File] = {}


def write(
    directory: Path, manifest: Manifest, arrays: Arrays, picture: bytes | None = None
) -> tuple[str, int]:
    """Write a new version into `directory`, which appears when it is whole; the manifest's digest,
    and bytes. Raises VersionError."""
    made = directory.with_suffix(".tmp")
    try:
        with files.whole_folder(directory, made):
            with files.flushed(made / WEIGHTS) as file:
                np.savez(file, allow_pickle=False, **arrays)
            if picture is not None:
                with files.flushed(made / PICTURE) as file:
                    file.write(picture)
            measured = {
                path.name: File(size=size, sha256=sha256)
                for path in sorted(made.iterdir())
                for size, sha256 in [files.measure(path)]
            }
            complete = manifest.model_copy(update={"files": measured})
            text = complete.model_dump_json(indent=1).encode()
            with files.flushed(made / MANIFEST) as file:
                file.write(text)
    except OSError as error:
        raise VersionError(
            f"The version could not be written to {directory} ({error.strerror or error}). Check"
            " the disk."
        ) from error
    return hashlib.sha256(text).hexdigest(), len(text) + sum(one.size for one in measured.values())


def read_manifest(directory: Path, digest: str) -> Manifest:
    """The manifest of the version in `directory`, if it has this digest. Raises VersionError."""
    with _reading(directory):
        with files.open_plain(directory / MANIFEST) as file:
            text = file.read()
        if hashlib.sha256(text).hexdigest() != digest:
            raise files.NoFile(f"{MANIFEST} is not the one that was registered")
        return Manifest.model_validate_json(text)


def read(directory: Path, digest: str) -> tuple[Manifest, Arrays]:
    """Manifest and arrays of the version in `directory`, every byte checked. Raises
    VersionError."""
    manifest = read_manifest(directory, digest)
    with (
        _reading(directory),
        np.load(io.BytesIO(_checked(directory, manifest, WEIGHTS)), allow_pickle=False) as arrays,
    ):
        return manifest, {name: arrays[name] for name in arrays.files}


def read_picture(directory: Path, digest: str) -> bytes | None:
    """PNG of what the version makes, None where it has none: frames of a flow that was away have no
    successors. Raises VersionError."""
    manifest = read_manifest(directory, digest)
    with _reading(directory):
        return _checked(directory, manifest, PICTURE) if PICTURE in manifest.files else None


def verify(directory: Path, manifest: Manifest, name: str) -> None:
    """Whether a file of the version in `directory` is the one of its manifest. Raises
    VersionError."""
    with _reading(directory):
        _checked(directory, manifest, name)


def _checked(directory: Path, manifest: Manifest, name: str) -> bytes:
    with files.open_plain(directory / name) as file:
        data = file.read()
    if File(size=len(data), sha256=hashlib.sha256(data).hexdigest()) != manifest.files[name]:
        raise files.NoFile(f"{name} is damaged")
    return data


@contextmanager
def _reading(directory: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        why = (
            str(error)
            if isinstance(error, files.NoFile)
            else getattr(error, "strerror", None) or "it was written by another version of ganboard"
        )
        raise VersionError(
            f"The version in {directory} cannot be used ({why}). Remove it, and add it again from"
            " its run."
        ) from error
