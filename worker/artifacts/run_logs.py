"""The log of a run on its way to the store and back: a file for each machine that trained it."""

from __future__ import annotations

import math
import os
import shutil
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ganboard.db.ids import is_id, new_id
from ganboard.db.models import Artifact
from ganboard.db.placement import artifacts
from ganboard.db.runs import queries
from ganboard.gan import files
from ganboard.worker.artifacts.store import Store, StoreError, open_store, run_key
from ganboard.worker.context import Context
from ganboard.worker.process import machine
from ganboard.worker.safe_files import open_inside

QUIET_SECONDS = 10.0  # a log that grew is stored once it has not grown for so long


@dataclass(frozen=True)
class Part:
    """What one machine has logged of a run."""

    machine: str
    path: Path  # on this machine's disk


# --- to the store ---


def upload(context: Context, store: Store, run_id: str) -> None:
    """Store the log of this machine as it is now. Raises StoreError."""
    name = artifacts.log_name(machine.name(context.settings))
    log = context.settings.log_path(run_id)
    copy = context.settings.state / "uploads" / f"{run_id}.log"  # the log grows meanwhile
    copy.parent.mkdir(exist_ok=True)
    try:
        with open_inside(log.parent, log.name) as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        size, digest = files.measure(copy)
        listed = artifacts.of_run(context.engine, run_id).get(name)
        if listed is None or listed.digest != digest:
            store.put(copy, run_key(run_id, name))
            artifacts.add(
                context.engine, Artifact(run_id=run_id, name=name, digest=digest, size=size)
            )
    except FileNotFoundError:  # there is none
        pass
    finally:
        files.remove(copy)


class Watch:
    """The logs of this machine, of which those that grew are stored: also after the last
    checkpoint, where a run that failed says why."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}  # size of a log, and since when

    def round(self, context: Context, store: Store) -> None:
        """To be called again and again. Raises StoreError."""
        stored = artifacts.log_sizes(context.engine, machine.name(context.settings))
        present = time.monotonic()
        for path in context.settings.state.glob("runs/*/train.log"):
            run_id = path.parent.name
            with suppress(FileNotFoundError):
                found = path.lstat()
                size = found.st_size
                known = not size or stored.get(run_id) == size
                if known or not is_id(run_id) or not stat.S_ISREG(found.st_mode):
                    continue
                if self._seen.get(run_id, (0, 0.0))[0] != size:
                    self._seen[run_id] = size, present
                elif present - self._seen[run_id][1] >= QUIET_SECONDS:
                    if queries.get_run(context.engine, run_id, trash_too=True):
                        upload(context, store, run_id)
                    self._seen[run_id] = size, math.inf


# --- from the store ---


def own(context: Context, run_id: str) -> Part | None:
    """The log that this machine has written."""
    path = context.settings.log_path(run_id)
    if path.is_symlink() or not path.is_file():
        return None
    return Part(machine.recorded(context.settings) or "", path)


def parts(context: Context, run_id: str) -> list[Part]:
    """The logs of a run, newest first; those of other machines are fetched and verified unless they
    are here. Raises StoreError."""
    here = own(context, run_id)
    stored = artifacts.logs(context.engine, run_id)
    found = []
    if here is not None:
        listed = stored.pop(here.machine, None)
        newer = listed is None or here.path.stat().st_size != listed.size
        found.append((newer, listed and listed.stored_at, here))
    if stored and (store := open_store(context.settings)) is not None:
        for name, one in stored.items():
            found.append((False, one.stored_at, Part(name, _fetched(context, store, one))))
    # of what is not stored yet nothing is known but that it is new
    found.sort(key=lambda one: (one[0], one[1].timestamp() if one[1] else 0.0), reverse=True)
    return [part for _, _, part in found]


def _fetched(context: Context, store: Store, stored: Artifact) -> Path:
    path = context.settings.run_dir(stored.run_id) / stored.name
    draft = path.with_name(f".{path.name}.{new_id()}.tmp")
    with suppress(FileNotFoundError):
        if path.lstat().st_size == stored.size:
            return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        store.get(run_key(stored.run_id, stored.name), draft)
        os.truncate(draft, stored.size)  # it may have grown since it was listed
        if files.measure(draft)[1] != stored.digest:
            raise StoreError(
                f"{stored.name} of run {stored.run_id} is damaged in the store {store.url} and was"
                " not used. Read the log on that machine."
            )
        draft.replace(path)
    except OSError as error:
        raise StoreError(
            f"The log of run {stored.run_id} was not fetched into {path.parent}"
            f" ({error.strerror or error}). Free some space, or check the disk."
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return path
