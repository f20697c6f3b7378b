"""Checkpoints and power cuts: what every legal disk after a cut at any moment
(tests/crash/disk_model.py) gives the real loader.

    python -m tests.crash.power

A run saves, lists (in the database, which flushes) and prunes checkpoints; in between a new attempt
begins after a kill. At every moment the disk must give the newest listed checkpoint or the one that
is just being saved, to the bit, and all that are listed must verify.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np

from ganboard.gan.checkpoint import reader, store
from ganboard.gan.devices import hardware
from ganboard.gan.events import Note
from ganboard.gan.progress import Progress
from tests.crash.disk_model import Disk, Node, State, materialise
from tests.recorder import Recorder

INTERVAL, SAVES, KEEP = 4, 14, 3
FOLDER = Path("runs", "a-run", "checkpoints")
Listed = tuple[tuple[int, int, str], ...]


@dataclass(frozen=True)
class Cut:
    """A disk after a power cut, what it may give (a step, or None for no checkpoint), and what the
    database lists."""

    state: State
    gives: frozenset[int | None]
    listed: Listed


def arrays(step: int) -> dict[str, np.ndarray]:
    values = np.random.default_rng(step)
    return {
        "generator/kernel": values.random((12, 16), np.float32),
        "g_optimizer/iterations": np.asarray(step),
    }


def progress(step: int) -> Progress:
    losses = np.full(step % 3, step, np.float32)
    return Progress(step, step // INTERVAL, losses, losses, seconds=step / 7)


def cuts(root: Path, saves: int = SAVES) -> dict[Cut, str]:
    """Every distinct disk of a story of so many saves, with the operation that the cut followed."""
    found: dict[Cut, str] = {}
    gives: frozenset[int | None] = frozenset({None})
    listed: Listed = ()

    def cut(top: Node) -> None:
        for state in top.states():
            found.setdefault(Cut(state, gives, listed), disk.operations[-1])

    disk, directory, attempt = Disk(root, cut), root / FOLDER, 1
    with disk.recording(), patch.object(store, "versions", cache(hardware.versions)):
        directory.parent.mkdir(parents=True)  # as the work-horse makes it for the log: not flushed
        for number in range(1, saves + 1):
            step = number * INTERVAL
            # killed while saving: another attempt finds the rest
            if number > 1 and number == saves // 2:
                _leave_half_a_checkpoint(directory / f"ckpt-{step}-{attempt}.tmp")
                attempt += 1
                assert store.load(directory, arrays(0), digest="c", sink=Recorder()) is not None
            gives |= {step}
            saved = store.save(directory, arrays(step), progress(step), digest="c", attempt=attempt)
            gives = frozenset({step})
            disk.done("saved")
            listed = ((step, attempt, saved.digest), *listed)[:KEEP]
            disk.done("listed")
            store.prune(directory, KEEP)
    return found


def _leave_half_a_checkpoint(path: Path) -> None:
    path.mkdir()
    with (path / "state.npz").open("wb") as file:
        file.write(bytes(range(256)) * 3)


def fault(cut: Cut, place: Path) -> str | None:
    """What is wrong with what the loader makes of a disk, if anything; `place` is used and
    cleared."""
    materialise(cut.state, place)
    directory, recorder = place / FOLDER, Recorder()
    try:
        if bad := reader.verify(directory, cut.listed):
            return f"listed and bad: {bad}"
        loaded = store.load(directory, arrays(0), digest="c", sink=recorder)
        step = loaded[1].step if loaded else None
        if step not in cut.gives:
            return f"gave step {step} instead of {sorted(cut.gives, key=str)}"
        if loaded and (_bytes(loaded[0]), _bytes(loaded[1].arrays())) != (
            _bytes(arrays(step or 0)),
            _bytes(progress(step or 0).arrays()),
        ):
            return f"gave other values for step {step}"
        if notes := recorder.of(Note):
            return f"complained: {notes[0].text}"
    finally:
        shutil.rmtree(place)
    return None


def _bytes(found: reader.Arrays) -> dict[str, bytes]:
    return {name: array.tobytes() + str(array.dtype).encode() for name, array in found.items()}


def faults(found: dict[Cut, str]) -> Iterator[str]:
    """One sentence for every disk that is not as it must be."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(dir=memory) as name,
        patch.object(store, "versions", cache(hardware.versions)),
    ):
        for cut, operation in found.items():
            if words := fault(cut, Path(name) / "disk"):
                yield f"After {operation!r}: {words}."


def sample(found: dict[Cut, str], size: int, seed: int) -> dict[Cut, str]:
    return dict(random.Random(seed).sample(list(found.items()), size))


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        found = cuts(Path(name))
    bad = list(faults(found))
    kinds = Counter(operation.split()[0] for operation in found.values())
    print(f"{len(found)} distinct disks after power cuts in {SAVES} saves: {len(bad)} bad")
    print(", ".join(f"{kind} {number}" for kind, number in kinds.most_common()))
    print(*bad[:20], sep="\n")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
