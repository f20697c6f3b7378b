"""What tests of backups share: checkpoints to save, homes to compare, archives to rewrite."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ganboard.db.settings import Settings
from ganboard.gan.checkpoint import store
from ganboard.gan.progress import Progress
from ganboard.worker.backup.backup import MANIFEST
from ganboard.worker.context import Context, open_context
from ganboard.worker.terminal.progress_bar import ProgressBar
from tests.unit.db.stored_runs import contents

QUIET = ProgressBar("backup", "bytes", quiet=True)


def save(context: Context, run_id: str, step: int, *, attempt: int = 1, keep: int = 3) -> None:
    """A checkpoint as the trainer saves and lists it."""
    from ganboard.db.runs import checkpoint_reports

    arrays = {"g/0": np.full(1000, step, np.float32)}
    folder = context.settings.run_dir(run_id) / "checkpoints"
    saved = store.save(folder, arrays, Progress(step, step // 4), digest="d", attempt=attempt)
    checkpoint_reports.add_checkpoint(
        context.engine, run_id=run_id, attempt=attempt, **vars(saved), keep=keep
    )
    store.prune(folder, keep)


def files(settings: Settings) -> dict[str, bytes]:
    runs = settings.state / "runs"
    return {
        path.relative_to(runs).as_posix(): path.read_bytes()
        for path in sorted(runs.rglob("*"))
        if path.is_file()
    }


def elsewhere(tmp_path: Path, name: str = "elsewhere", **changes: Any) -> Settings:
    return Settings(home=tmp_path / name, **changes)


def rows(settings: Settings) -> dict[str, list[Any]]:
    opened = open_context(settings)
    try:
        return {**contents(opened.engine), "worker": []}
    finally:
        opened.engine.dispose()


def rewritten(
    archive: Path, path: Path, change: Callable[[dict[str, bytes], dict[str, Any]], None]
) -> Path:
    """The archive with other members; `change` gets them, and the manifest without what it
    lists."""
    with zipfile.ZipFile(archive) as old:
        members = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(members.pop(MANIFEST))
    change(members, manifest)
    import hashlib

    manifest["files"] = manifest.get("files") and {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in members.items()
    }
    with zipfile.ZipFile(path, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)
        new.writestr(MANIFEST, json.dumps(manifest))
    return path
