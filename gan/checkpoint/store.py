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
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_fixed

from ganboard.gan import files
from ganboard.gan.config import RunConfig
from ganboard.gan.data import revision
from ganboard.gan.devices.hardware import versions
from ganboard.gan.events import Found, Note, Saved, Sink
from ganboard.gan.progress import Progress

Arrays = Mapping[str, npt.NDArray[Any]]

FORMAT = 1
_NAME = re.compile(r"ckpt-(\d+)-(\d+)")
_ASIDE = re.compile(r"aside-\d+-ckpt-(\d+)-\d+")
_STATE, _MANIFEST = "state.npz", "manifest.json"
_PROGRESS = "progress/"
_MARGIN = 1 << 20  # bytes that must be free beyond the arrays': for their names and the manifest
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# what is wrong with a path, or (EINVAL) with a place in a file that damaged contents name; any
# other error is the disk's, and may pass
_NO_DISK = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EINVAL}
# Settings that change when a run ends or what is kept of it, but none of its weights
_FREE = {
    "epochs", "checkpoint_every", "keep_checkpoints", "grid_every", "grid_size", "quality_every", "quality_images", "on_non_finite",
    "stall_seconds", "snapshots", "max_minutes",
}  # fmt: skip


class CheckpointError(Exception):
    """A checkpoint that cannot be written or used; the message says why in one sentence."""


class NotFiniteError(CheckpointError):
    """Weights that no checkpoint should hold."""


def config_hash(config: RunConfig, examples: int) -> str:
    """Digest of all that determines the weights: the settings but `_FREE`, the number of images in
    the data set, and its revision where it is made by code that has changed."""
    # a new setting leaves old digests alone
    settings = config.model_dump(exclude=_FREE, exclude_defaults=True) | {"examples": examples}
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
    if bad := next(_not_finite(arrays), None):
        raise NotFiniteError(
            f"Checkpoint of step {progress.step} was not saved: {bad} holds values that are not"
            " finite."
        )
    arrays = {**arrays, **{_PROGRESS + name: array for name, array in progress.arrays().items()}}
    final = directory / f"ckpt-{progress.step}-{attempt}"
    made = final.with_suffix(".tmp")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        files.remove(made)
        if sentence := _no_room(directory, arrays):
            raise CheckpointError(
                f"Checkpoint of step {progress.step} was not saved in {directory}: {sentence}"
            )
        if not _listed(directory):  # who made the folders above may not have flushed them
            files.flush_above(directory)
        made.mkdir()
        with (made / _STATE).open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            files.flush(file)
        size, sha256 = files.measure(made / _STATE)
        manifest = {
            "format": FORMAT,
            "step": progress.step,
            "attempt": attempt,
            "epoch": progress.epoch,
            "config_hash": digest,
            "versions": versions(),
            "files": {_STATE: {"sha256": sha256, "size": size}},
        }
        text = json.dumps(manifest, indent=1).encode()
        with (made / _MANIFEST).open("wb") as file:
            file.write(text)
            files.flush(file)
        files.flush_directory(made)
        made = made.rename(final)
        files.flush_directory(directory)
    except OSError as error:
        files.remove(made)
        reason, remedy = (
            error.strerror or error,
            ("make room there" if error.errno in _FULL else "check that disk"),
        )
        raise CheckpointError(
            f"Checkpoint of step {progress.step} was not saved in {directory}: {reason}; {remedy}."
        ) from error
    return Saved(progress.step, progress.epoch, hashlib.sha256(text).hexdigest(), size + len(text))


def prune(directory: Path, keep: int) -> None:
    """Delete all but the `keep` newest, and what was set aside of steps before those. What the disk
    refuses is left for the next time."""
    found = _listed(directory)
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

    Damaged and foreign ones are set aside (renamed, not deleted) with a warning, and the next older
    one is tried. One that the disk cannot read now, though asked several times, stays in its place:
    CheckpointError.
    """
    for leftover in [*directory.glob("ckpt-*.tmp"), *directory.glob("aside-*.tmp")]:
        files.remove(leftover)
    for step, _, path in _listed(directory):
        try:
            arrays, progress, saved_by = _read(path, expected, digest)
        except MemoryError:
            raise
        # what a damaged file makes json, zipfile and numpy raise has no end
        except Exception as error:
            if _may_pass(error):
                raise CheckpointError(
                    f"The checkpoint of step {step} cannot be read ({error}): check that disk and"
                    " resume, or move the folder away to resume from the one before."
                ) from error
            path.rename(_unused(path))
            why = (
                " ".join(str(error).split())[:200]
                if isinstance(error, (CheckpointError, files.NoFile))
                else f"{type(error).__name__} while it was read"
            )
            sink(
                Note(
                    "warning",
                    f"The checkpoint of step {step} cannot be used and is set aside: {why}. Trying"
                    " the one before it.",
                )
            )
            continue
        if saved_by != versions():
            sink(
                Note(
                    "warning",
                    f"The checkpoint was saved by {_text(saved_by)}, this is {_text(versions())}:"
                    " equal bits are not promised.",
                )
            )
        return arrays, progress
    return None


def damage(path: Path) -> str | None:
    """Why the checkpoint in this folder does not load, None when it does. Changes nothing; raises
    FileNotFoundError when it was deleted."""
    try:
        with _verified(path) as (_, file):
            bad = next(_not_finite({name: file[name] for name in file.files}), None)
    except (MemoryError, FileNotFoundError):
        raise
    except Exception as error:  # as in `load`
        return f"{type(error).__name__}: {error}"
    return f"{bad} holds values that are not finite" if bad else None


def verify(directory: Path, listed: Iterable[tuple[int, int, str]]) -> dict[tuple[int, int], str]:
    """Why those of `listed` (step, attempt, `Saved.digest`) that do not load do not, in words by
    (step, attempt). Changes nothing."""
    found = {}
    for step, attempt, digest in listed:
        path = directory / f"ckpt-{step}-{attempt}"
        try:
            words = damage(path)
            if words is None and files.measure(path / _MANIFEST)[1] != digest:
                words = f"{_MANIFEST} is not the one that was listed"
        except FileNotFoundError as error:
            words = f"FileNotFoundError: {error}"
        if words:
            found[step, attempt] = words
    return found


def found(directory: Path) -> tuple[Found, ...]:
    """The complete checkpoints as their manifests tell, newest first; those without a readable one
    are left out."""
    known = []
    for step, attempt, path in _listed(directory):
        with (
            suppress(OSError, ValueError, KeyError, TypeError),
            files.open_plain(path / _MANIFEST) as file,
        ):
            text = file.read()
            manifest = json.loads(text)
            size = len(text) + int(manifest["files"][_STATE]["size"])
            known.append(
                Found(step, attempt, int(manifest["epoch"]), hashlib.sha256(text).hexdigest(), size)
            )
    return tuple(known)


def newest(directory: Path) -> Path | None:
    """The folder of the newest complete checkpoint, with manifest.json and state.npz; a later save
    may remove it."""
    return next((path for _, _, path in _listed(directory)), None)


def complete(directory: Path) -> list[tuple[int, int, Path]]:
    """The complete checkpoints as (step, attempt, folder), newest first; a later save may remove
    them."""
    return _listed(directory)


def newest_arrays(directory: Path) -> Arrays:
    """Arrays of the newest checkpoint as they are, for comparisons. Raises CheckpointError when
    there is none."""
    found = _listed(directory)
    if not found:
        raise CheckpointError(f"There is no checkpoint in {directory}.")
    with np.load(found[0][2] / _STATE, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def part(directory: Path, step: int, prefix: str) -> Arrays:
    """Those arrays of the checkpoint of `step` whose names begin with `prefix`, its digest checked.
    For readers beside a training: nothing is set aside or deleted. Raises CheckpointError in one
    sentence.
    """
    found = next((path for number, _, path in _listed(directory) if number == step), None)
    try:
        if found is None:
            raise FileNotFoundError
        with _verified(found) as (_, file):
            return {name: file[name] for name in file.files if name.startswith(prefix)}
    except FileNotFoundError:
        raise CheckpointError(
            f"The checkpoint of step {step} is gone: a run keeps its newest ones"
            " (keep_checkpoints); choose another epoch."
        ) from None
    except (CheckpointError, files.NoFile) as error:
        raise CheckpointError(
            f"The checkpoint of step {step} is damaged ({error}): choose another epoch."
        ) from None
    except MemoryError:
        raise
    except Exception as error:  # as in `load`
        raise CheckpointError(
            f"The checkpoint of step {step} cannot be read ({type(error).__name__}): choose another"
            " epoch."
        ) from error


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
    with _verified(path) as (manifest, file):
        if manifest["config_hash"] != digest:
            raise CheckpointError("it belongs to another configuration or data set")
        arrays = {name: file[name] for name in file.files}
    values = {
        name.removeprefix(_PROGRESS): arrays.pop(name)
        for name in list(arrays)
        if name.startswith(_PROGRESS)
    }
    progress = Progress.of(values)
    if progress.step != manifest["step"]:
        raise CheckpointError(f"{_MANIFEST} is damaged")
    if strange := {
        name
        for name in {*arrays, *expected}
        if _form(arrays.get(name)) != _form(expected.get(name))
    }:
        raise CheckpointError(f"it does not fit the networks in {sorted(strange)[0]}")
    if bad := next(_not_finite(arrays), None):
        raise CheckpointError(f"{bad} holds values that are not finite")
    return arrays, progress, manifest["versions"]


@contextmanager
def _verified(path: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """The manifest and numpy's reader of the arrays, once the folder's name, the sizes and the
    digests agree."""
    name = _NAME.fullmatch(path.name)
    assert name is not None, "callers name checkpoints only"
    step, attempt = int(name[1]), int(name[2])
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise CheckpointError("it is not a directory")
    with files.open_plain(path / _MANIFEST) as file:
        manifest = json.load(file)
    if manifest["format"] != FORMAT:
        raise CheckpointError(f"its format is {manifest['format']}, this version reads {FORMAT}")
    # whole folders can change places; manifests of the first ganboard name no attempt
    if (manifest["step"], manifest.get("attempt", attempt)) != (step, attempt):
        raise CheckpointError(f"{_MANIFEST} belongs to step {manifest['step']}")
    if not isinstance(manifest["versions"], dict):
        raise CheckpointError(f"{_MANIFEST} is damaged")
    promised = manifest["files"][_STATE]
    with files.open_plain(path / _STATE) as file:
        if files.measured(file) != (promised["size"], promised["sha256"]):
            raise CheckpointError(f"{_STATE} is damaged")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            yield manifest, arrays


def _no_room(directory: Path, arrays: Arrays) -> str | None:
    needed, disk = sum(array.nbytes for array in arrays.values()) + _MARGIN, os.statvfs(directory)
    free = disk.f_bavail * disk.f_frsize
    if free >= needed or not disk.f_blocks:  # some file systems tell no sizes
        return None
    return f"it needs {needed:,} bytes and {free:,} bytes are free; make room there."


def _listed(directory: Path) -> list[tuple[int, int, Path]]:
    """Complete checkpoints as (step, attempt, path), newest first."""
    found = [
        (match, path) for path in directory.glob("ckpt-*") if (match := _NAME.fullmatch(path.name))
    ]
    return sorted(((int(match[1]), int(match[2]), path) for match, path in found), reverse=True)


def _not_finite(arrays: Arrays) -> Iterator[str]:
    return (
        name
        for name, array in arrays.items()
        if array.dtype.kind == "f" and not np.isfinite(array).all()
    )


def _form(array: npt.NDArray[Any] | None) -> tuple[Any, ...] | None:
    return None if array is None else (array.shape, array.dtype)


def _unused(path: Path) -> Path:
    return next(
        p for i in range(10**6) if not (p := path.with_name(f"aside-{i}-{path.name}")).exists()
    )


def _text(found: Mapping[str, str]) -> str:
    return " ".join(", ".join(f"{name} {number}" for name, number in found.items()).split())[:200]
