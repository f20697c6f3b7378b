"""Checkpoints and snapshots of runs on their way to the store and back.

A checkpoint is stored as it is written: `state.npz` first, `manifest.json` last and once, each read
back; then the database lists it. One that is not listed does not exist.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from ganboard.db.models import Artifact, Checkpoint, Run
from ganboard.db.placement import artifacts
from ganboard.db.runs import queries
from ganboard.db.settings import Settings
from ganboard.gan import files
from ganboard.gan.checkpoint import reader, snapshots
from ganboard.gan.checkpoint.reader import MANIFEST, STATE
from ganboard.worker.artifacts.store import Store, StoreError, open_store, run_key
from ganboard.worker.context import Context

_SNAPSHOT = re.compile(rf"{snapshots.FOLDER}/epoch-\d{{1,9}}\.npz", re.ASCII)


# --- to the store ---


def upload(context: Context, store: Store, listed: Checkpoint) -> bool:
    """Store a checkpoint of this machine's disk, and what lies beside it; False when it has been
    pruned meanwhile. Raises StoreError and CheckpointError."""
    run = queries.get_run(context.engine, listed.run_id, trash_too=True)
    if run is None:
        return False
    name = artifacts.checkpoint_name(listed.step, listed.attempt)
    aside = context.settings.state / "uploads" / f"{run.id}-{listed.step}-{listed.attempt}"
    try:
        _set_aside(context.settings.run_dir(run.id) / name, aside)
        size = _expected(aside, listed)
        store.put(aside / STATE, f"{run_key(run.id, name)}/{STATE}")
        store.put(aside / MANIFEST, f"{run_key(run.id, name)}/{MANIFEST}", once=True)
    except FileNotFoundError:
        return False
    finally:
        files.remove(aside)
    artifacts.add(
        context.engine,
        Artifact(
            run_id=run.id,
            name=name,
            digest=listed.digest,
            size=size,
            step=listed.step,
            attempt=listed.attempt,
            epoch=listed.epoch,
        ),
    )
    _upload_files(context, store, run)
    _retain(context, store, run)
    return True


def _set_aside(checkpoint: Path, aside: Path) -> None:
    """Files that the trainer's pruning does not reach."""
    files.remove(aside)
    aside.mkdir(parents=True)
    for name in (STATE, MANIFEST):
        try:
            os.link(checkpoint / name, aside / name, follow_symlinks=False)
        except PermissionError:  # a file system without hard links
            shutil.copyfile(checkpoint / name, aside / name, follow_symlinks=False)


def _expected(folder: Path, listed: Checkpoint) -> int:
    """The bytes of a checkpoint that is the one listed. Raises CheckpointError."""
    try:
        size, digest = files.measure(folder / MANIFEST)
        manifest = json.loads((folder / MANIFEST).read_bytes())
        promised = manifest["files"][STATE]
        whole = digest == listed.digest and files.measure(folder / STATE) == (
            promised["size"],
            promised["sha256"],
        )
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError):  # ValueError: also NoFile
        whole = False
    if not whole:
        raise reader.CheckpointError(
            f"The checkpoint of step {listed.step} of run {listed.run_id} is damaged or cannot be"
            " read on this machine's disk, and was not stored."
        )
    return size + int(promised["size"])


def _upload_files(context: Context, store: Store, run: Run) -> None:
    """The snapshots that are new, and the log as it is now."""
    from ganboard.worker.artifacts import run_logs

    folder = context.settings.run_dir(run.id) / snapshots.FOLDER
    stored = artifacts.of_run(context.engine, run.id)
    for epoch in snapshots.epochs(folder):
        path = folder / f"epoch-{epoch}.npz"
        name = f"{snapshots.FOLDER}/{path.name}"
        if name in stored:
            continue
        with suppress(FileNotFoundError, files.NoFile):
            size, digest = files.measure(path)
            store.put(path, run_key(run.id, name))
            artifacts.add(
                context.engine, Artifact(run_id=run.id, name=name, digest=digest, size=size)
            )
    run_logs.upload(context, store, run.id)


def _retain(context: Context, store: Store, run: Run) -> None:
    """Keep as many checkpoints in the store as on a disk."""
    keep = int(run.config.get("keep_checkpoints") or 1)
    for old in artifacts.checkpoints(context.engine, run.id)[keep:]:
        artifacts.remove(context.engine, run.id, [old.name])
        store.remove(run_key(run.id, old.name))


def remove_orphans(context: Context, store: Store) -> None:
    """Remove what the store has of runs that were removed. Raises StoreError."""
    for run_id in artifacts.of_removed_runs(context.engine):
        store.remove(f"runs/{run_id}")
        artifacts.forget(context.engine, run_id)


# --- from the store ---


def fetch(settings: Settings, store: Store, stored: Artifact) -> Path:
    """The folder of a stored checkpoint on this machine's disk, fetched and verified unless it is
    there. Raises StoreError."""
    assert stored.step is not None
    assert stored.attempt is not None
    from filelock import FileLock

    name = artifacts.checkpoint_name(stored.step, stored.attempt)
    final = settings.run_dir(stored.run_id) / name
    directory, draft = final.parent, final.with_name(f"{final.name}.fetched.tmp")
    listed = [(stored.step, stored.attempt, stored.digest)]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # workers of one HOME, and the processes of one run, may want it at the same time
        with FileLock(settings.state / "fetch.lock"):
            if final.is_dir() and not reader.verify(directory, listed):
                return final
            files.remove(final)
            with files.whole_folder(final, draft):
                for part in (MANIFEST, STATE):
                    store.get(f"{run_key(stored.run_id, name)}/{part}", draft / part)
    except OSError as error:
        raise StoreError(
            f"The checkpoint of step {stored.step} was not fetched into {directory}:"
            f" {error.strerror or error}; free some space or check the disk."
        ) from error
    if bad := reader.verify(directory, listed):
        files.remove(final)
        raise StoreError(
            f"The checkpoint of step {stored.step} in the store {store.url} is damaged"
            f" ({next(iter(bad.values()))[:100]}). It is not used."
        )
    return final


def ensure(context: Context, run_id: str, step: int | None = None) -> Path:
    """The folder of a run's checkpoints on this machine's disk, for readers: with the one of
    `step`, or with those that are newer than any here, fetched where only the store has them.
    Raises StoreError."""
    directory = context.settings.run_dir(run_id) / "checkpoints"
    here = [number for number, _, _ in reader.complete(directory)]
    wanted = [
        one
        for one in artifacts.checkpoints(context.engine, run_id)
        if one.step is not None
        and one.step not in here
        and (one.step == step if step is not None else one.step > max(here, default=-1))
    ]
    if wanted and (store := open_store(context.settings)) is not None:
        for one in wanted:
            fetch(context.settings, store, one)
    return directory


def fetch_snapshots(context: Context, run_id: str) -> None:
    """Fetch the snapshots of a run that are not on this machine's disk. Raises StoreError."""
    folder = context.settings.run_dir(run_id)
    stored = artifacts.of_run(context.engine, run_id)
    names = [name for name in stored if _SNAPSHOT.fullmatch(name)]
    absent = [name for name in names if not (folder / name).exists()]
    store = open_store(context.settings) if absent else None
    if store is None:
        return
    for name in absent:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        draft = (folder / name).with_suffix(".tmp")
        store.get(run_key(run_id, name), draft)
        if files.measure(draft)[1] != stored[name].digest:
            draft.unlink()
            raise StoreError(f"{name} of run {run_id} is damaged in the store {store.url}.")
        draft.replace(folder / name)
