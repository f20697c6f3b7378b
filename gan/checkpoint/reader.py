"""Reads checkpoints: which exist, whether they are complete, what they hold. Changes, moves and
deletes nothing. Free of TensorFlow."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.gan import files
from ganboard.gan.events import Found

Arrays = Mapping[str, npt.NDArray[Any]]

STATE, MANIFEST = "state.npz", "manifest.json"
FORMAT = 1
_NAME = re.compile(r"ckpt-(\d+)-(\d+)")


class CheckpointError(Exception):
    """A checkpoint that cannot be written or used; the message says why in one sentence."""


class NotFiniteError(CheckpointError):
    """Weights that no checkpoint should hold."""


def complete(directory: Path) -> list[tuple[int, int, Path]]:
    """The complete checkpoints as (step, attempt, folder), newest first; a later save may remove
    them."""
    found = [
        (match, path) for path in directory.glob("ckpt-*") if (match := _NAME.fullmatch(path.name))
    ]
    return sorted(((int(match[1]), int(match[2]), path) for match, path in found), reverse=True)


def damage(path: Path) -> str | None:
    """Why the checkpoint in this folder does not load, None when it does. Changes nothing; raises
    FileNotFoundError when it was deleted."""
    try:
        with verified(path) as (_, file):
            bad = next(not_finite({name: file[name] for name in file.files}), None)
    except (MemoryError, FileNotFoundError):
        raise
    except Exception as error:  # what a damaged file makes json, zipfile and numpy raise has no end
        return f"{type(error).__name__}: {error}"
    return f"{bad} contains non-finite values" if bad else None


def verify(directory: Path, listed: Iterable[tuple[int, int, str]]) -> dict[tuple[int, int], str]:
    """Why those of `listed` (step, attempt, `Saved.digest`) that do not load do not, in words by
    (step, attempt). Changes nothing."""
    found = {}
    for step, attempt, digest in listed:
        path = directory / f"ckpt-{step}-{attempt}"
        try:
            words = damage(path)
            if words is None and files.measure(path / MANIFEST)[1] != digest:
                words = f"{MANIFEST} is not the one that was listed"
        except FileNotFoundError as error:
            words = f"FileNotFoundError: {error}"
        if words:
            found[step, attempt] = words
    return found


def found(directory: Path) -> tuple[Found, ...]:
    """The complete checkpoints according to their manifests, newest first, without those that have
    no readable manifest."""
    known = []
    for step, attempt, path in complete(directory):
        with (
            suppress(OSError, ValueError, KeyError, TypeError),
            files.open_plain(path / MANIFEST) as file,
        ):
            text = file.read()
            manifest = json.loads(text)
            size = len(text) + int(manifest["files"][STATE]["size"])
            known.append(
                Found(step, attempt, int(manifest["epoch"]), hashlib.sha256(text).hexdigest(), size)
            )
    return tuple(known)


def newest(directory: Path) -> Path | None:
    """The folder of the newest complete checkpoint, with manifest.json and state.npz; a later save
    may remove it."""
    return next((path for _, _, path in complete(directory)), None)


def newest_arrays(directory: Path) -> Arrays:
    """Arrays of the newest checkpoint as they are, for comparisons. Raises CheckpointError when
    there is none."""
    found = complete(directory)
    if not found:
        raise CheckpointError(f"There is no checkpoint in {directory}.")
    with np.load(found[0][2] / STATE, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def part(directory: Path, step: int, prefix: str | tuple[str, ...]) -> Arrays:
    """Those arrays of the checkpoint of `step` whose names begin with `prefix`, or one of several,
    its digest checked. For readers beside a training: nothing is set aside or deleted. Raises
    CheckpointError in one sentence.
    """
    found = next((path for number, _, path in complete(directory) if number == step), None)
    try:
        if found is None:
            raise FileNotFoundError
        with verified(found) as (_, file):
            return {name: file[name] for name in file.files if name.startswith(prefix)}
    except FileNotFoundError:
        raise CheckpointError(
            f"The checkpoint of step {step} no longer exists, since a run keeps only the latest"
            " ones (keep_checkpoints). Choose another epoch."
        ) from None
    except (CheckpointError, files.NoFile) as error:
        raise CheckpointError(
            f"The checkpoint of step {step} is damaged ({error}). Choose another epoch."
        ) from None
    except MemoryError:
        raise
    except Exception as error:  # as in `damage`
        raise CheckpointError(
            f"The checkpoint of step {step} cannot be read ({type(error).__name__}). Choose"
            " another epoch."
        ) from error


@contextmanager
def verified(path: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """The manifest and numpy's reader of the arrays, once the folder's name, the sizes and the
    digests agree."""
    name = _NAME.fullmatch(path.name)
    assert name is not None, "callers name checkpoints only"
    step, attempt = int(name[1]), int(name[2])
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise CheckpointError("it is not a directory")
    with files.open_plain(path / MANIFEST) as file:
        manifest = json.load(file)
    if manifest["format"] != FORMAT:
        raise CheckpointError(
            f"its format is {manifest['format']}, but this version reads format {FORMAT}"
        )
    # whole folders can change places; manifests of the first ganboard name no attempt
    if (manifest["step"], manifest.get("attempt", attempt)) != (step, attempt):
        raise CheckpointError(f"{MANIFEST} belongs to step {manifest['step']}")
    if not isinstance(manifest["versions"], dict):
        raise CheckpointError(f"{MANIFEST} is damaged")
    promised = manifest["files"][STATE]
    with files.open_plain(path / STATE) as file:
        if files.measured(file) != (promised["size"], promised["sha256"]):
            raise CheckpointError(f"{STATE} is damaged")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            yield manifest, arrays


def not_finite(arrays: Arrays) -> Iterator[str]:
    return (
        name
        for name, array in arrays.items()
        if array.dtype.kind == "f" and not np.isfinite(array).all()
    )
