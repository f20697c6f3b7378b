"""Checkpoints to save, load and damage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ganboard.gan.checkpoint import store
from ganboard.gan.checkpoint.store import config_hash
from ganboard.gan.events import Note
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.progress import Progress
from tests.recorder import Recorder

DIGEST = config_hash(Config(), 128)


def arrays(value: float = 1.0) -> dict[str, np.ndarray]:
    return {
        "generator/dense/kernel": np.full((30, 40), value, np.float32),
        "g_optimizer/iterations": np.int64(7).reshape(()),
    }


def progress(step: int = 5) -> Progress:
    return Progress(step, 2, np.float32([0.1, 0.2]), np.float32([0.3, 0.4]), 1 / 3, 0.1)


def save(
    directory: Path,
    step: int = 5,
    *,
    value: float = 1.0,
    attempt: int = 1,
    keep: int = 9,
    digest: str = DIGEST,
) -> Path:
    store.save(directory, arrays(value), progress(step), digest=digest, attempt=attempt)
    store.prune(directory, keep)
    return directory / f"ckpt-{step}-{attempt}"


def load(directory: Path) -> tuple[float, Progress, list[str]] | None:
    """(the weights' value, progress, warnings), or None."""
    recorder = Recorder()
    found = store.load(directory, arrays(), digest=DIGEST, sink=recorder)
    notes = [note.text for note in recorder.of(Note)]
    return (float(found[0]["generator/dense/kernel"][0, 0]), found[1], notes) if found else None


def flip(path: Path, position: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(position * (len(data) - 1))] ^= 1
    path.write_bytes(data)


def edit(path: Path, **changes: object) -> None:
    manifest = path / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **changes}))
