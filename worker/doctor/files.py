"""What lies in HOME: leftovers of crashes, orphaned folders, and checkpoints and models that differ
from the database."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlalchemy import Engine

from ganboard.db import versions
from ganboard.db.models import Run
from ganboard.db.placement import artifacts
from ganboard.db.runs import queries
from ganboard.db.runs.imports import IMPORTED
from ganboard.db.settings import Settings
from ganboard.gan.checkpoint import reader
from ganboard.gan.generation import package
from ganboard.gan.generation.package import VersionError
from ganboard.worker.doctor.check import Check
from ganboard.worker.process import machine

LEFTOVER_SECONDS = 60.0  # what is younger may be being written
NAMED = 3  # of many, the rest is counted


def mode(settings: Settings) -> int:
    """The rights to HOME."""
    return stat.S_IMODE(settings.state.stat().st_mode)


def private(settings: Settings) -> Iterator[Check]:
    """Whether others on this machine can read the state: a HOME that is ours alone is closed
    whenever it is opened."""
    if not settings.state.is_dir():
        return
    rights = mode(settings)
    if rights & (stat.S_IROTH | stat.S_IWOTH):
        can = "write" if rights & stat.S_IWOTH else "read"
        ours = settings.state.stat().st_uid == os.geteuid()
        remedy = f"Run: `chmod 700 {settings.state}`" + ("" if ours else ", as its owner")
        shared = "; if others need the folder, set GANBOARD_HOME to a folder of its own"
        yield Check(
            "permissions",
            "warn",
            f"every user of this machine can {can} {settings.state}",
            remedy + shared,
        )


def state(settings: Settings, engine: Engine) -> Iterator[Check]:
    """What can be seen without reading any file."""
    runs = {run.id: run for run in queries.list_runs(engine, archived=True, trash_too=True)}
    folders = {path.name: path for path in _entries(settings.state / "runs") if path.is_dir()}
    known = {version.id for version in versions.listed(engine)}
    models = [
        path
        for path in _entries(settings.state / "models")
        if path.name not in known and not path.name.endswith(".tmp")
    ]
    yield from _left_by_crashes(settings)
    yield from _set_aside(settings, folders.values())
    yield from _orphans(
        settings, "run", [path for name, path in folders.items() if name not in runs]
    )
    yield from _orphans(settings, "version", models)
    yield from _missing(settings, engine, [run for run in runs.values() if run.id in folders])


def _left_by_crashes(settings: Settings) -> Iterator[Check]:
    if old := leftovers(settings):
        size = sum(_size(path) for path in old)
        yield Check(
            "leftovers",
            "warn",
            f"{_named(old, settings.state)}, {_mb(size)}, left by killed processes",
            FIX,
        )


def _set_aside(settings: Settings, folders: Iterable[Path]) -> Iterator[Check]:
    aside = [
        path
        for folder in folders
        for path in _entries(folder / "checkpoints")
        if path.name.startswith("aside-")
    ]
    if aside:
        size = sum(_size(path) for path in aside)
        remedy = (
            "They could not be used when their run resumed. Keep them to investigate, or delete"
            " them."
        )
        yield Check("set aside", "warn", f"{_named(aside, settings.state)}, {_mb(size)}", remedy)


def _orphans(settings: Settings, what: str, orphans: list[Path]) -> Iterator[Check]:
    if orphans:
        size = sum(_size(path) for path in orphans)
        remedy = (
            f"Their {what}s were deleted or belong to another database. Delete or move the folders."
        )
        yield Check(
            "orphans",
            "warn",
            f"{_named(orphans, settings.state)} without a {what}, {_mb(size)}",
            remedy,
        )


def _missing(settings: Settings, engine: Engine, runs: list[Run]) -> Iterator[Check]:
    """Checkpoints that are listed for this machine and lie nowhere."""
    own = (None, machine.recorded(settings))
    missing = [
        f"{run.id} step {row.step}"
        for run in runs
        if IMPORTED not in run.facts
        for row in queries.checkpoints(engine, run.id)
        if row.machine in own
        and not (
            settings.run_dir(run.id)
            / "checkpoints"
            / f"ckpt-{row.step}-{row.attempt}"
            / "manifest.json"
        ).exists()
    ]
    if missing:
        remedy = (
            "The run resumes from the latest one that exists. To recover these, restore the"
            " folders from a backup."
        )
        yield Check("checkpoints", "fail", f"listed but not on this disk: {_some(missing)}", remedy)


def damaged(settings: Settings) -> Iterator[Check]:
    """Every checkpoint read and compared with its digest."""
    bad, count = [], 0
    for folder in _entries(settings.state / "runs"):
        for step, _, path in reader.complete(folder / "checkpoints"):
            count += 1
            try:
                if reader.damage(path):
                    bad.append(f"{folder.name} step {step}")
            except FileNotFoundError:  # retention was quicker
                continue
    if bad:
        remedy = (
            "A resumed run sets them aside and uses the previous one. Check the disk, and restore"
            " them from a backup."
        )
        yield Check("digests", "fail", f"damaged checkpoints: {_some(bad)}", remedy)
    else:
        yield Check("digests", "ok", f"{count:,} checkpoints match their digests")


def damaged_models(settings: Settings, engine: Engine) -> Iterator[Check]:
    """Every registered version read and compared with its digests, but those that only the artifact
    store has."""
    bad, stored = [], artifacts.stored_versions(engine)
    listed = [
        version
        for version in versions.listed(engine)
        if version.id not in stored or settings.model_dir(version.id).exists()
    ]
    for version in listed:
        try:
            package.read(settings.model_dir(version.id), version.digest)
        except VersionError:
            bad.append(f"{version.name}:{version.version}")
    if bad:
        remedy = "Remove them and add them again from their runs, or restore models/ from a backup."
        yield Check("models", "fail", f"missing or damaged: {_some(bad)}", remedy)
    elif listed:
        yield Check("models", "ok", f"{len(listed):,} versions match their digests")


def leftovers(settings: Settings) -> list[Path]:
    """Incomplete files of killed writers that are no longer written."""
    below = (settings.state / "models").glob("*.tmp")
    found = [
        *settings.state.glob("*.tmp"),
        *below,
        *(settings.state / "runs").glob("*/*/*.tmp"),
        *(settings.state / "runs").glob("*/*/.*.tmp"),
    ]
    return sorted(path for path in set(found) if _age(path) > LEFTOVER_SECONDS)


def remove_leftovers(settings: Settings) -> list[str]:
    """Delete them; returns what was deleted. A restore that was cut short is left to the next
    start, which completes or undoes it."""
    removed = []
    for path in leftovers(settings):
        if path.name.startswith("restore-") and (settings.state / "restore.json").exists():
            continue
        (
            shutil.rmtree(path)
            if path.is_dir() and not path.is_symlink()
            else path.unlink(missing_ok=True)
        )
        removed.append(str(path.relative_to(settings.state)))
    return removed


FIX = "Run: `ganboard doctor --fix`"


def _age(path: Path) -> float:
    """Seconds since anything in it changed."""
    newest = max(
        (os.lstat(one).st_mtime for one in (path, *_entries(path)) if os.path.lexists(one)),
        default=time.time(),
    )
    return time.time() - newest


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []


def _size(path: Path) -> int:
    return sum(
        os.lstat(one).st_size
        for one in (path, *path.rglob("*"))
        if os.path.lexists(one) and not one.is_dir()
    )


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _named(paths: list[Path], home: Path) -> str:
    return _some([str(path.relative_to(home)) for path in paths])


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (
        f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    )
