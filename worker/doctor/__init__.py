"""What this machine has, what is missing or broken, and the remedy: for `ganboard doctor`, the page
System and /api/ready alike."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Engine

from ganboard.db.settings import Settings
from ganboard.gan.data import catalog
from ganboard.worker.context import Context
from ganboard.worker.doctor import (
    accelerator,
    artifacts,
    background,
    calibrations,
    database,
    files,
    models,
    picture_caches,
    processes,
    queue,
    telemetry,
    workers,
)
from ganboard.worker.doctor import machine as here
from ganboard.worker.doctor.check import Check

__all__ = [
    "Check",
    "accelerators",
    "checks",
    "data_sets",
    "home",
    "installation",
    "machine",
    "mend",
]

home = here.home


def checks(settings: Settings, *, deep: bool = False) -> Iterator[Check]:
    """All findings, the quick ones first; `deep` reads every checkpoint.

    Changes nothing but the rights of others to HOME, and makes an empty SQLite file in an empty
    HOME.
    """
    yield from machine(settings)
    if settings.state.is_dir() or settings.database_url:
        yield from _state(settings, deep=deep)
    yield from data_sets(settings)
    yield from models.own()
    yield from picture_caches.caches(settings)
    yield from artifacts.artifact_store(settings)
    yield from telemetry.checks()
    yield from here.tensorflow()


def accelerators(settings: Settings) -> Iterator[Check]:
    """The devices that TensorFlow finds here, in seconds to a minute or two."""
    yield from accelerator.checks(settings)


def machine(settings: Settings) -> Iterator[Check]:
    """What this process sees of its machine, within milliseconds."""
    yield here.python()
    yield here.cpu()
    yield here.memory()
    yield here.home(settings)
    yield here.identity(settings)
    yield here.redis_binary(settings)


def installation(settings: Settings, engine: Engine) -> Iterator[Check]:
    """What the parts of this installation do: the queue, and by the database the workers, what
    waits for them, the background processes and the clock."""
    yield queue.queue(settings)
    yield from workers.workers(Context(settings, engine))
    yield from background.checks(engine)
    yield database.time(engine)


def data_sets(settings: Settings) -> Iterator[Check]:
    """Which data sets are here, named "data: mnist" and so on."""
    for name, absent in catalog.available(settings.data).items():
        yield (
            Check(f"data: {name}", "warn", "not here", absent)
            if absent
            else Check(f"data: {name}", "ok", "here")
        )


def mend(settings: Settings) -> Iterator[str]:
    """Do what is safe, and say each thing that was done: delete leftovers of killed writers and
    unused caches, queue again what has no live lease."""
    for name in picture_caches.free(settings):
        yield f"Deleted the unused cache {name}."
    if not settings.state.is_dir() and not settings.database_url:
        return
    for name in files.remove_leftovers(settings):
        yield f"Deleted {name}."
    _, engine = database.schema(settings)
    if engine is not None:
        for run_id in database.queue_again(engine):
            yield f"Run {run_id} had no live lease: queued again, or ended if that was due."


def _state(settings: Settings, *, deep: bool) -> Iterator[Check]:
    yield from files.private(settings)
    if (settings.state / "restore.json").exists():
        yield Check(
            "restore",
            "warn",
            "a restore is in progress or was interrupted",
            "The next command completes or undoes it: `ganboard runs`",
        )
    found, engine = database.schema(settings, deep=deep)
    yield from found
    yield from processes.supervisor(settings)
    if engine is None:
        yield queue.queue(settings)
        yield Check(
            "workers", "warn", "unknown until the database can be read", "Fix the database first."
        )
        return
    yield from installation(settings, engine)
    yield from queue.keeping(settings)
    yield from processes.slots(settings, engine)
    yield from database.content(engine)
    yield from calibrations.measured(engine)
    yield from files.state(settings, engine)
    if deep:
        yield from files.damaged(settings)
        yield from files.damaged_models(settings, engine)
