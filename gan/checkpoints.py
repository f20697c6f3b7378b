"""Checkpoints that survive kill and power loss, and a loader that never trusts a name. Free of TensorFlow.

A checkpoint is a directory `ckpt-<step>-<attempt>`: `state.npz` with every variable and the started epoch, and `manifest.json` with the
size and digest of that file. It is written beside its place, flushed, and renamed: it is there in full or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from gan.config import RunConfig
from gan.events import Note, Saved, Sink
from gan.hardware import versions
from gan.progress import Progress

Arrays = Mapping[str, npt.NDArray[Any]]

FORMAT = 1
_NAME = re.compile(r"ckpt-(\d+)-(\d+)")
_STATE, _MANIFEST = "state.npz", "manifest.json"
_PROGRESS = "progress/"
# Settings that change when a run ends or what is kept of it, but none of its weights
_FREE = {
    "epochs", "checkpoint_every", "keep_checkpoints", "grid_every", "grid_size", "quality_every", "quality_images", "on_non_finite",
    "stall_seconds", "snapshots",
}  # fmt: skip


class CheckpointError(Exception):
    """A checkpoint that cannot be written or used; the message says why in one sentence."""


class NotFiniteError(CheckpointError):
    """Weights that no checkpoint should hold."""


def config_hash(config: RunConfig, examples: int) -> str:
    """Digest of all that determines the weights: the settings but `_FREE`, and the number of images in the data set."""
    settings = config.model_dump(exclude=_FREE, exclude_defaults=True) | {"examples": examples}  # a new setting leaves old digests alone
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def save(directory: Path, arrays: Arrays, progress: Progress, *, digest: str, attempt: int, keep: int) -> Saved:
    """Write `arrays` and `progress`, then delete all but the `keep` newest. `digest` is the run's `config_hash`.

    Raises NotFiniteError, or CheckpointError when the disk does not take it; what was there before stays.
    """
    if bad := next(_not_finite(arrays), None):
        raise NotFiniteError(f"Checkpoint of step {progress.step} was not saved: {bad} holds values that are not finite.")
    final = directory / f"ckpt-{progress.step}-{attempt}"
    temporary = final.with_suffix(".tmp")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        with (temporary / _STATE).open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays, **{_PROGRESS + k: v for k, v in progress.arrays().items()})
            _flush(file)
        size, sha256 = _measure(temporary / _STATE)
        manifest = {
            "format": FORMAT,
            "step": progress.step,
            "epoch": progress.epoch,
            "config_hash": digest,
            "versions": versions(),
            "files": {_STATE: {"sha256": sha256, "size": size}},
        }
        text = json.dumps(manifest, indent=1).encode()
        with (temporary / _MANIFEST).open("wb") as file:
            file.write(text)
            _flush(file)
        _flush_directory(temporary)
        temporary.rename(final)
        _flush_directory(directory)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        reason = error.strerror or error
        raise CheckpointError(f"Checkpoint of step {progress.step} was not saved in {directory}: {reason}; make room there.") from error
    for _, _, old in _listed(directory)[keep:]:
        shutil.rmtree(old.rename(old.with_suffix(".tmp")), ignore_errors=True)
    return Saved(progress.step, progress.epoch, hashlib.sha256(text).hexdigest(), size + len(text))


def load(directory: Path, expected: Arrays, *, digest: str, sink: Sink) -> tuple[Arrays, Progress] | None:
    """The newest checkpoint that is whole and belongs to `digest`, or None; `expected` gives names, shapes and types of its arrays.

    Others are set aside (renamed, not deleted) with a warning, and the next older one is tried.
    """
    for leftover in directory.glob("ckpt-*.tmp"):
        shutil.rmtree(leftover, ignore_errors=True)
    for step, _, path in _listed(directory):
        try:
            arrays, progress, saved_by = _read(path, expected, digest)
        except (CheckpointError, OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile) as error:
            path.rename(_unused(path))
            sink(Note("warning", f"The checkpoint of step {step} cannot be used and is set aside: {error}. Trying the one before it."))
            continue
        if saved_by != versions():
            sink(
                Note("warning", f"The checkpoint was saved by {_text(saved_by)}, this is {_text(versions())}: equal bits are not promised.")
            )
        return arrays, progress
    return None


def newest(directory: Path) -> Path | None:
    """The folder of the newest complete checkpoint, with manifest.json and state.npz; a later save may remove it."""
    return next((path for _, _, path in _listed(directory)), None)


def newest_arrays(directory: Path) -> Arrays:
    """Arrays of the newest checkpoint as they are, for comparisons. Raises CheckpointError when there is none."""
    found = _listed(directory)
    if not found:
        raise CheckpointError(f"There is no checkpoint in {directory}.")
    with np.load(found[0][2] / _STATE, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def part(directory: Path, step: int, prefix: str) -> Arrays:
    """Those arrays of the checkpoint of `step` whose names begin with `prefix`, its digest checked. For readers beside a training: nothing
    is set aside or deleted. Raises CheckpointError in one sentence.
    """
    found = next((path for number, _, path in _listed(directory) if number == step), None)
    try:
        if found is None:
            raise FileNotFoundError
        promised = json.loads((found / _MANIFEST).read_bytes())["files"][_STATE]
        if _measure(found / _STATE) != (promised["size"], promised["sha256"]):
            raise CheckpointError(f"The checkpoint of step {step} is damaged: choose another epoch.")
        with np.load(found / _STATE, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name.startswith(prefix)}
    except FileNotFoundError:
        raise CheckpointError(
            f"The checkpoint of step {step} is gone: a run keeps its newest ones (keep_checkpoints); choose another epoch."
        ) from None
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise CheckpointError(f"The checkpoint of step {step} cannot be read ({type(error).__name__}): choose another epoch.") from error


def _read(path: Path, expected: Arrays, digest: str) -> tuple[Arrays, Progress, dict[str, str]]:
    manifest = json.loads((path / _MANIFEST).read_bytes())
    if manifest["format"] != FORMAT:
        raise CheckpointError(f"its format is {manifest['format']}, this version reads {FORMAT}")
    if manifest["config_hash"] != digest:
        raise CheckpointError("it belongs to another configuration or data set")
    promised = manifest["files"][_STATE]
    if _measure(path / _STATE) != (promised["size"], promised["sha256"]):
        raise CheckpointError(f"{_STATE} is damaged")
    with np.load(path / _STATE, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    values = {name.removeprefix(_PROGRESS): arrays.pop(name) for name in list(arrays) if name.startswith(_PROGRESS)}
    progress = Progress.of(values)
    if progress.step != manifest["step"]:
        raise CheckpointError(f"{_MANIFEST} is damaged")
    if strange := {name for name in {*arrays, *expected} if _form(arrays.get(name)) != _form(expected.get(name))}:
        raise CheckpointError(f"it does not fit the networks in {sorted(strange)[0]}")
    if bad := next(_not_finite(arrays), None):
        raise CheckpointError(f"{bad} holds values that are not finite")
    return arrays, progress, manifest["versions"]


def _flush(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _listed(directory: Path) -> list[tuple[int, int, Path]]:
    """Complete checkpoints as (step, attempt, path), newest first."""
    found = [(match, path) for path in directory.glob("ckpt-*") if (match := _NAME.fullmatch(path.name))]
    return sorted(((int(match[1]), int(match[2]), path) for match, path in found), reverse=True)


def _not_finite(arrays: Arrays) -> Iterator[str]:
    return (name for name, array in arrays.items() if array.dtype.kind == "f" and not np.isfinite(array).all())


def _form(array: npt.NDArray[Any] | None) -> tuple[Any, ...] | None:
    return None if array is None else (array.shape, array.dtype)


def _measure(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _unused(path: Path) -> Path:
    return next(p for i in range(10**6) if not (p := path.with_name(f"aside-{i}-{path.name}")).exists())


def _text(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.items())
