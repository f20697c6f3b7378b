"""Networks as files, which a page asked for (worker/requests/network_files.py): where they lie, on
this disk and in the store. A file that no request of the database names does not exist.
"""

from __future__ import annotations

from collections.abc import Collection
from io import BufferedReader
from pathlib import Path

from ganboard.db import requests
from ganboard.db.models import Artifact, Request
from ganboard.db.placement import artifacts
from ganboard.gan import files
from ganboard.worker.artifacts.store import Store, StoreError, open_store, run_key
from ganboard.worker.context import Context
from ganboard.worker.errors import WorkerError
from ganboard.worker.safe_files import open_inside


class NoNetworkFile(WorkerError):
    """The file is not there; the message is one sentence with the remedy."""


def folder(context: Context, run_id: str) -> Path:
    """Where the files of a run lie, each under the id of its request."""
    return context.settings.run_dir(run_id) / "networks"


def opened(context: Context, answered: Request) -> BufferedReader:
    """The file of an answered request, fetched unless it is here, every byte checked. Raises
    NoNetworkFile and StoreError."""
    directory = folder(context, answered.run_id)
    try:
        file = open_inside(directory, answered.id)
    except FileNotFoundError:
        _fetch(context, answered, directory / answered.id)
        file = open_inside(directory, answered.id)
    if files.measured(file) != _expected(answered):
        file.close()
        raise NoNetworkFile(
            f"The file {answered.facts['file']} is damaged on this machine. Delete it, and write it"
            " again."
        )
    return file


def remove(context: Context, run_id: str, request_ids: Collection[str]) -> None:
    """Delete requests of a run with their files, and whatever else lies beside these without a
    request. The store and other machines follow."""
    requests.forget(context.engine, request_ids)
    kept = {one.id for one in requests.of_runs(context.engine, requests.NETWORK_FILE, [run_id])}
    directory = folder(context, run_id)
    for path in directory.iterdir() if directory.is_dir() else ():
        if path.name.lstrip(".").partition(".")[0] not in kept:  # drafts begin with a dot
            files.remove(path)


def upload(context: Context, store: Store, answered: Request) -> bool:
    """Store a file of this machine's disk; False when it is not there. Raises StoreError."""
    path = folder(context, answered.run_id) / answered.id
    name = artifacts.network_name(answered.id)
    size, digest = _expected(answered)
    try:
        if files.measure(path) != (size, digest):
            raise StoreError(f"{path} is damaged, and was not stored.")
        store.put(path, run_key(answered.run_id, name))
    except (FileNotFoundError, files.NoFile):
        return False
    artifacts.add(
        context.engine, Artifact(run_id=answered.run_id, name=name, digest=digest, size=size)
    )
    return True


def remove_orphans(context: Context, store: Store) -> None:
    """Remove what the store has of requests that were deleted. Raises StoreError."""
    for gone in artifacts.of_removed_network_files(context.engine):
        store.remove(run_key(gone.run_id, gone.name))
        artifacts.remove(context.engine, gone.run_id, [gone.name])


def _fetch(context: Context, answered: Request, path: Path) -> None:
    name = artifacts.network_name(answered.id)
    store = open_store(context.settings)
    if store is None or name not in artifacts.of_run(context.engine, answered.run_id):
        raise NoNetworkFile(
            f"The file {answered.facts['file']} is on machine {answered.facts['machine']} and in no"
            " artifact store. Open the dashboard of that machine, or write it again."
        )
    from filelock import FileLock

    draft = path.with_name(f".{path.name}.fetched.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(context.settings.state / "fetch-networks.lock"):
            if path.exists():  # another download was faster
                return
            store.get(run_key(answered.run_id, name), draft)
            if files.measure(draft) != _expected(answered):
                raise StoreError(
                    f"{answered.facts['file']} in the store {store.url} is damaged and was not"
                    " used. Delete it, and write it again."
                )
            draft.replace(path)
    except OSError as error:
        raise StoreError(
            f"{answered.facts['file']} was not fetched into {path.parent}"
            f" ({error.strerror or error}). Free some space, or check the disk."
        ) from error
    finally:
        files.remove(draft)


def _expected(answered: Request) -> tuple[int, str]:
    return answered.facts["size"], answered.facts["digest"]
