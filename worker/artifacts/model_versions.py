"""Registered versions of models on their way to the store and back.

They outlive their runs, so their files lie under `models/ID` and not among those of a run. As with
checkpoints the manifest comes last and once, and what the database does not list does not exist.
"""

from __future__ import annotations

import time
from pathlib import Path

from ganboard.db.models import Artifact, ModelVersion
from ganboard.db.placement import artifacts
from ganboard.gan import files
from ganboard.gan.generation import package
from ganboard.gan.generation.package import VersionError
from ganboard.worker.artifacts.store import Store, StoreAway, StoreError, open_store
from ganboard.worker.context import Context

AWAY_SECONDS = 30.0  # for which a page does not ask a store again that did not answer
_away_until = 0.0  # of the monotonic clock


def upload(context: Context, store: Store, version: ModelVersion) -> bool:
    """Store a version of this machine's disk; False when it is not there. Raises StoreError and
    VersionError."""
    folder = context.settings.model_dir(version.id)
    if not folder.exists():
        return False
    name = artifacts.version_name(version.id)
    manifest = package.read_manifest(folder, version.digest)
    try:
        for file in manifest.files:
            package.verify(folder, manifest, file)
            store.put(folder / file, f"{name}/{file}")
        store.put(folder / package.MANIFEST, f"{name}/{package.MANIFEST}", once=True)
    except FileNotFoundError:  # it was removed meanwhile
        return False
    artifacts.add(
        context.engine,
        Artifact(run_id=version.run_id, name=name, digest=version.digest, size=version.size),
    )
    return True


def remove_orphans(context: Context, store: Store) -> None:
    """Remove what the store has of versions that were removed. Raises StoreError."""
    for gone in artifacts.of_removed_versions(context.engine):
        store.remove(gone.name)
        artifacts.remove(context.engine, gone.run_id, [gone.name])


def folder(context: Context, version: ModelVersion) -> Path:
    """The folder of a version on this machine's disk, fetched and verified unless it is there.
    Raises StoreError, VersionError."""
    final = context.settings.model_dir(version.id)
    return final if final.exists() else _fetch(context, version, final, package.CONTENTS)


def preview(context: Context, version: ModelVersion) -> Path:
    """A folder with at least the manifest and the picture of a version, which take a page much less
    time to fetch than the weights. Raises StoreError, VersionError."""
    global _away_until
    small = preview_dir(context, version)
    for here in (context.settings.model_dir(version.id), small):
        if here.exists():
            return here
    if time.monotonic() < _away_until:
        raise StoreAway(f"The store {context.settings.store} did not answer. Try again later.")
    try:
        return _fetch(context, version, small, (package.PICTURE,))
    except StoreAway:
        _away_until = time.monotonic() + AWAY_SECONDS
        raise


def preview_dir(context: Context, version: ModelVersion) -> Path:
    """Where the small files of a version lie whose weights are elsewhere."""
    return context.settings.state / "previews" / context.settings.model_dir(version.id).name


def _fetch(context: Context, version: ModelVersion, final: Path, wanted: tuple[str, ...]) -> Path:
    from filelock import FileLock

    called, name = f"{version.name}:{version.version}", artifacts.version_name(version.id)
    store = open_store(context.settings)
    if store is None or name not in artifacts.of_run(context.engine, version.run_id):
        raise VersionError(
            f"The files of {called} are neither on this machine nor in an artifact store. Run the"
            " command on the machine that registered it."
        )
    draft = final.with_suffix(".tmp")
    try:
        with FileLock(context.settings.state / "fetch-models.lock"):
            if not final.exists():
                with files.whole_folder(final, draft):
                    _fill(store, version, draft, wanted)
    except VersionError as error:
        raise StoreError(
            f"{called} in the store {store.url} is damaged and was not used. Remove it, and add it"
            " again from its run."
        ) from error
    except OSError as error:
        raise StoreError(
            f"{called} was not fetched into {final.parent} ({error.strerror or error}). Free some"
            " space, or check the disk."
        ) from error
    return final


def _fill(store: Store, version: ModelVersion, draft: Path, wanted: tuple[str, ...]) -> None:
    name = artifacts.version_name(version.id)
    store.get(f"{name}/{package.MANIFEST}", draft / package.MANIFEST)
    manifest = package.read_manifest(draft, version.digest)
    for file in wanted:
        if file in manifest.files:
            store.get(f"{name}/{file}", draft / file)
            package.verify(draft, manifest, file)
