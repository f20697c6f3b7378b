"""`python -m ganboard.worker.artifacts.uploader`: stores what the trainers of this machine save, in
the background. One process per HOME, started by its workers; the training step never waits for it,
and what a cut has interrupted is stored again."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ganboard.db.errors import DbError
from ganboard.db.placement import artifacts
from ganboard.db.settings import Settings
from ganboard.gan import files
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.generation.package import VersionError
from ganboard.worker import logs
from ganboard.worker.artifacts import (
    model_versions,
    network_files,
    picture_caches,
    run_logs,
    transfers,
)
from ganboard.worker.artifacts.store import Store, StoreAway, StoreError, configured, open_store
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import json_child, machine
from ganboard.worker.process.parent_death import die_with_named_parent, environment_for_child

log = logging.getLogger("ganboard.worker")

ROUND_SECONDS = 2.0
AWAY_SECONDS = 10.0  # until the next try, when the store does not answer
REFUSED_SECONDS = 600.0
NICE = 10
CHECK = "--check"
CHECK_SECONDS = 60.0
UNUSABLE, AWAY = 3, 4  # exit codes

Place = tuple[str, int, int]  # run, step, attempt; else what names it, and zeros


class Uploader:
    """The process, started when there is a store and no other worker of this HOME has one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wanted = configured(context.settings)
        self._process: subprocess.Popen[bytes] | None = None

    def ensure(self) -> None:
        """To be called again and again."""
        if not self._wanted or (self._process is not None and self._process.poll() is None):
            return
        self._process = None
        if not machine.held(lock(self._context)):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ganboard.worker.artifacts.uploader"],
                env=environment_for_child(),
            )


def check(settings: Settings) -> str | None:
    """Refuse a store that cannot be used; returns why it was not checked when it does not answer,
    which may pass. In a process of its own, since its library starts a thread. Raises SettingsError
    and StoreError."""
    if not configured(settings):
        return None
    try:
        ended = json_child.run(["-m", "ganboard.worker.artifacts.uploader", CHECK], CHECK_SECONDS)
    except json_child.TimeLimit as error:
        return f"The artifact store {settings.store} was not checked: {error}."
    if ended.code == UNUSABLE:
        raise StoreError(ended.reason)
    return ended.reason if ended.code else None


def _check() -> int:
    """The answer to `check`."""
    try:
        store = open_store(Settings())
        if store is not None:
            store.check()
    except CLEAR_ERRORS as error:
        print(error, file=sys.stderr)  # noqa: T201
        return AWAY if isinstance(error, StoreAway) else UNUSABLE
    return 0


def lock(context: Context) -> Path:
    """The file that the uploader of a HOME locks for as long as it lives."""
    return context.settings.state / "uploader.lock"


def upload_round(context: Context, store: Store, refused: dict[Place, float]) -> int:
    """Store what is not; returns how many checkpoints, versions, files of networks and picture
    caches. One that is `refused`, since it is damaged on this disk or its place in the store is
    taken, is logged, and tried again at that time (of the monotonic clock). Raises StoreAway."""
    done = 0
    for listed in artifacts.missing(context.engine, machine.name(context.settings)):
        place = (listed.run_id, listed.step, listed.attempt)
        what = f"the checkpoint of step {listed.step} of run {listed.run_id}"
        store_it = partial(transfers.upload, context, store, listed)
        done += _tried(refused, place, what, listed.size, store_it)
    for version in artifacts.missing_versions(context.engine):
        what = f"version {version.version} of {version.name}"
        store_it = partial(model_versions.upload, context, store, version)
        done += _tried(refused, (version.id, 0, 0), what, version.size, store_it)
    for answered in artifacts.missing_network_files(context.engine):
        what = f"the network file {answered.id} of run {answered.run_id}"
        store_it = partial(network_files.upload, context, store, answered)
        done += _tried(refused, (answered.id, 0, 0), what, answered.facts["size"], store_it)
    for one in picture_caches.missing(context):
        what = f"the picture cache {one.path.name}"
        store_it = partial(picture_caches.upload, context, store, one)
        done += _tried(refused, (one.path.name, 0, 0), what, one.size, store_it)
    picture_caches.remove_unused(context, store)
    transfers.remove_orphans(context, store)
    network_files.remove_orphans(context, store)
    model_versions.remove_orphans(context, store)
    return done


def _tried(
    refused: dict[Place, float], place: Place, what: str, size: int, upload: Callable[[], bool]
) -> bool:
    """Whether it was stored now."""
    began = time.monotonic()
    if refused.get(place, 0.0) > began:
        return False
    try:
        if not upload():
            return False
    except StoreAway:
        raise
    except (CheckpointError, StoreError, VersionError) as error:
        refused[place] = began + REFUSED_SECONDS
        log.warning("%s", error)
        return False
    log.info("Stored %s (%.1f MB) in %.1f s.", what, size / 1e6, time.monotonic() - began)
    return True


def main() -> int:
    """Store until SIGTERM; with CHECK as argument, only try the store."""
    if sys.argv[1:] == [CHECK]:
        return _check()
    from filelock import FileLock, Timeout

    die_with_named_parent(signal.SIGTERM)
    os.nice(NICE)
    logs.configure()
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: sys.exit(0))
    try:
        context = open_context(pooled=False)
        store = open_store(context.settings)
    except CLEAR_ERRORS as error:
        log.error("%s", error)
        return 1
    if store is None:
        return 0
    try:
        with FileLock(lock(context), blocking=False):
            files.remove(context.settings.state / "uploads")  # what a cut has left
            _work(context, store)
    except Timeout:
        pass  # another worker of this HOME was faster
    return 0


def _work(context: Context, store: Store) -> None:
    refused: dict[Place, float] = {}
    watch = run_logs.Watch()
    said = ""
    while True:
        pause = ROUND_SECONDS
        try:
            upload_round(context, store, refused)
            watch.round(context, store)
            said = ""
        except (StoreError, SQLAlchemyError, DbError, OSError) as error:
            pause = AWAY_SECONDS
            if (text := str(error).splitlines()[0]) != said:
                log.warning("%s", text)
            said = text
        time.sleep(pause)


if __name__ == "__main__":
    sys.exit(main())
