"""Decoded pictures on their way to the store and back, so that a machine with the same pictures
need not decode them again.

They belong to no run and lie under `data/NAME`, whose name follows from the pictures. As with
checkpoints the manifest comes last and once, and what the database does not list does not exist.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ganboard.db import clock
from ganboard.db.engine import reading
from ganboard.db.models import Artifact
from ganboard.db.placement import artifacts
from ganboard.gan import files
from ganboard.gan.data.pictures import cache, unused
from ganboard.gan.data.pictures.unused import Kept
from ganboard.worker.artifacts.store import Store, StoreError, configured, open_store
from ganboard.worker.context import Context

log = logging.getLogger("ganboard.worker")

MAX_BYTES = 2 << 30  # checkpoints wait for a cache that is being stored
REFRESH = timedelta(days=1)  # the database need not know more exactly when one was used


def missing(context: Context) -> Iterator[Kept]:
    """The caches on this machine's disk that are to be stored. Notes which of the stored ones are
    in use."""
    engine = context.engine
    stored = artifacts.caches(engine)
    with reading(engine) as session:
        present = clock.read(session)
    for one in unused.kept(context.settings.data / cache.FOLDER):
        if one.unused or one.size > MAX_BYTES:
            continue
        listed = stored.get(one.path.name)
        if listed is None:
            yield one
        elif present - timedelta(days=one.days) - listed.stored_at > REFRESH:
            artifacts.add(engine, listed)


def upload(context: Context, store: Store, one: Kept) -> bool:
    """Store a cache; False when it has been freed meanwhile. Raises StoreError."""
    name = artifacts.cache_name(one.path.name)
    try:
        cache.opened(one.path)
        for file in cache.parts(one.path):
            store.put(one.path / file, f"{name}/{file}")
        store.put(one.path / cache.MANIFEST, f"{name}/{cache.MANIFEST}", once=True)
        digest = files.measure(one.path / cache.MANIFEST)[1]
    except FileNotFoundError:
        return False
    except cache.DAMAGE as error:
        raise StoreError(f"The cache {one.path} is damaged and was not stored: {error}.") from error
    listed = Artifact(run_id=artifacts.NO_RUN, name=name, digest=digest, size=one.size)
    artifacts.add(context.engine, listed)
    return True


def remove_unused(context: Context, store: Store) -> None:
    """Remove what no machine has used for as long as a disk keeps it. Raises StoreError."""
    for name in artifacts.unused_caches(context.engine, unused.DAYS):
        artifacts.remove(context.engine, artifacts.NO_RUN, [name])
        store.remove(name)


def offer(context: Context) -> None:
    """Let this process look into the store before it decodes pictures."""
    if configured(context.settings):
        cache.look_elsewhere(lambda path: _fetch(context, path))


def _fetch(context: Context, path: Path) -> None:
    """Bring a cache from the store, if it is there; its reader verifies every byte."""
    try:
        listed = artifacts.caches(context.engine).get(path.name)
        store = open_store(context.settings) if listed is not None else None
        if listed is None or store is None:
            return
        draft = path.with_name(path.name + cache.TEMPORARY)
        with files.whole_folder(path, draft):
            store.get(f"{listed.name}/{cache.MANIFEST}", draft / cache.MANIFEST)
            for file in cache.parts(draft):
                store.get(f"{listed.name}/{file}", draft / file)
    except (StoreError, SQLAlchemyError, OSError, *cache.DAMAGE) as error:
        log.warning("The pictures are decoded here, since their cache was not fetched: %s", error)
