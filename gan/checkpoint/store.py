"""Checkpoints that survive kill and power loss, and a loader that never trusts a name. Free of
TensorFlow.

A checkpoint is a directory `ckpt-<step>-<attempt>`: `state.npz` with every variable and the started
epoch, and `manifest.json` with the size and digest of that file. It is written beside its place,
flushed, and renamed: it is there in full or not at all. See docs/durability.md.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_fixed

from ganboard.gan import files
from ganboard.gan.checkpoint.reader import (
    FORMAT,
    MANIFEST,
    STATE,
    Arrays,
    CheckpointError,
    NotFiniteError,
    complete,
    not_finite,
    verified,
)
from ganboard.gan.config import FORMER, RunConfig, identity
from ganboard.gan.data import revision
from ganboard.gan.devices.hardware import versions
from ganboard.gan.events import Note, Saved, Sink
from ganboard.gan.progress import Progress
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import affecting

_ASIDE = re.compile(r"aside-\d+-ckpt-(\d+)-\d+")
PROGRESS = "progress/"  # begins the names of arrays that are no weights
_MARGIN = 1 << 20  # bytes that must be free beyond the arrays': for their names and the manifest
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# what is wrong with a path, or (EINVAL) with a place in a file that damaged contents name; any
# other error is the disk's, and may pass
_NO_DISK = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EINVAL}


def config_hash(config: RunConfig, examples: int) -> str:
    """Digest of all that determines the weights: settings that affect them, the number of images in
    the data set, and its revision where it is made by code that has changed."""
    # a new setting leaves old digests alone
    settings = identity(config, affecting("weights"))
    settings["examples"] = examples
    if source := registry.of(config).source:
        settings[registry.SOURCE] = source
    if config.dataset in (former := {now: name for name, now in FORMER["dataset"].items()}):
        settings["dataset"] = former[config.dataset]  # nor does a new name change them
    if (revised := revision.current(config.model_dump(include={"dataset"}))) > 1:
        settings[revision.FACT] = revised
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def save(
    directory: Path, arrays: Arrays, progress: Progress, *, digest: str, attempt: int
) -> Saved:
    """Write `arrays` and `progress`. `digest` is the run's `config_hash`.

    Raises NotFiniteError, or CheckpointError when the disk does not take it; what was there before
    stays.
    """
    if bad := next(not_finite(arrays), None):
        raise NotFiniteError(
            f"Checkpoint of step {progress.step} was not saved because {bad} contains non-finite"
            " values."
        )
    arrays = {**arrays, **{PROGRESS + name: array for name, array in progress.arrays().items()}}
    final = directory / f"ckpt-{progress.step}-{attempt}"
    made = final.with_suffix(".tmp")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if sentence := _no_room(directory, arrays):
            raise CheckpointError(
                f"Checkpoint of step {progress.step} was not saved in {directory}: {sentence}"
            )
        if not complete(directory):  # who made the folders above may not have flushed them
            files.flush_above(directory)
        with files.whole_folder(final, made):
            with files.flushed(made / STATE) as file:
                np.savez(file, allow_pickle=False, **arrays)
            size, sha256 = files.measure(made / STATE)
            manifest = {
                "format": FORMAT,
                "step": progress.step,
                "attempt": attempt,
                "epoch": progress.epoch,
                "config_hash": digest,
                "versions": versions(),
                "files": {STATE: {"sha256": sha256, "size": size}},
            }
            text = json.dumps(manifest, indent=1).encode()
            with files.flushed(made / MANIFEST) as file:
                file.write(text)
    except OSError as error:
        reason, remedy = (
            error.strerror or error,
            ("free some space" if error.errno in _FULL else "check the disk"),
        )
        raise CheckpointError(
            f"Checkpoint of step {progress.step} was not saved in {directory}: {reason}; {remedy}."
        ) from error
    return Saved(progress.step, progress.epoch, hashlib.sha256(text).hexdigest(), size + len(text))


def digest_of(directory: Path, step: int) -> str:
    """The `config_hash` that the newest checkpoint of `step` was saved under. Raises
    CheckpointError where there is none."""
    path = next((path for number, _, path in complete(directory) if number == step), None)
    if path is None:
        raise CheckpointError(f"There is no checkpoint of step {step} in {directory}.")
    with verified(path) as (manifest, _):
        return str(manifest["config_hash"])


def prune(directory: Path, keep: int) -> None:
    """Delete all but the `keep` newest, and what was set aside of steps before those. What the disk
    refuses is left for the next time."""
    found = complete(directory)
    oldest = found[:keep][-1][0] if found else 0
    aside = [
        path
        for path in directory.glob("aside-*")
        if (match := _ASIDE.fullmatch(path.name)) and int(match[1]) < oldest
    ]
    for old in [path for _, _, path in found[keep:]] + aside:
        doomed = old.with_suffix(".tmp")
        files.remove(doomed)
        with suppress(OSError):
            files.remove(old.rename(doomed))  # never seen half deleted under its name


def load(
    directory: Path, expected: Arrays, *, digest: str, sink: Sink
) -> tuple[Arrays, Progress] | None:
    """The newest checkpoint that is whole and belongs to `digest`, or None; `expected` gives names,
    shapes and types of its arrays.

    Damaged ones and those of other configurations are set aside (renamed, not deleted) with a
    warning, and the next older one is tried. One that the disk cannot read now, though asked
    several times, stays in its place: CheckpointError.
    """
    for leftover in [*directory.glob("ckpt-*.tmp"), *directory.glob("aside-*.tmp")]:
        files.remove(leftover)
    for step, _, path in complete(directory):
        try:
            arrays, progress, saved_by = _read(path, expected, digest)
        except MemoryError:
            raise
        # what a damaged file makes json, zipfile and numpy raise has no end
        except Exception as error:
            if _may_pass(error):
                raise CheckpointError(
                    f"The checkpoint of step {step} cannot be read ({error}). Check the disk and"
                    " resume, or move the folder away to resume from the previous one."
                ) from error
            path.rename(_unused(path))
            why = (
                " ".join(str(error).split())[:200]
                if isinstance(error, (CheckpointError, files.NoFile))
                else f"{type(error).__name__} while reading it"
            )
            sink(
                Note(
                    "warning",
                    f"The checkpoint of step {step} cannot be used and is set aside: {why}. Trying"
                    " the previous one.",
                )
            )
            continue
        if saved_by != versions():
            sink(
                Note(
                    "warning",
                    f"The checkpoint was saved by {_text(saved_by)}, but this is"
                    f" {_text(versions())}. Bit-identical results are not guaranteed.",
                )
            )
        return arrays, progress
    return None


def _may_pass(error: BaseException) -> bool:
    """Whether it is the disk's trouble, not a damage of what lies there."""
    return isinstance(error, OSError) and error.errno not in _NO_DISK


@retry(
    retry=retry_if_exception(_may_pass),
    stop=stop_after_attempt(3),
    wait=wait_fixed(1),
    reraise=True,
)
def _read(path: Path, expected: Arrays, digest: str) -> tuple[Arrays, Progress, dict[str, str]]:
    with verified(path) as (manifest, file):
        if manifest["config_hash"] != digest:
            raise CheckpointError("it belongs to another configuration or data set")
        arrays = {name: file[name] for name in file.files}
    values = {
        name.removeprefix(PROGRESS): arrays.pop(name)
        for name in list(arrays)
        if name.startswith(PROGRESS)
    }
    progress = Progress.of(values)
    if progress.step != manifest["step"]:
        raise CheckpointError(f"{MANIFEST} is damaged")
    if strange := {
        name
        for name in {*arrays, *expected}
        if _form(arrays.get(name)) != _form(expected.get(name))
    }:
        raise CheckpointError(f"it does not fit the networks in {sorted(strange)[0]}")
    if bad := next(not_finite(arrays), None):
        raise CheckpointError(f"{bad} contains non-finite values")
    return arrays, progress, manifest["versions"]


def _no_room(directory: Path, arrays: Arrays) -> str | None:
    needed, disk = sum(array.nbytes for array in arrays.values()) + _MARGIN, os.statvfs(directory)
    free = disk.f_bavail * disk.f_frsize
    if free >= needed or not disk.f_blocks:  # some file systems report no sizes
        return None
    return f"it needs {needed:,} bytes, but only {free:,} bytes are free. Free some space there."


def _form(array: npt.NDArray[Any] | None) -> tuple[Any, ...] | None:
    return None if array is None else (array.shape, array.dtype)


def _unused(path: Path) -> Path:
    return next(
        p for i in range(10**6) if not (p := path.with_name(f"aside-{i}-{path.name}")).exists()
    )


def _text(found: Mapping[str, str]) -> str:
    return " ".join(", ".join(f"{name} {number}" for name, number in found.items()).split())[:200]
