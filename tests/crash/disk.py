"""A disk of a given size: a tmpfs of its own, or, where nothing may be mounted, a limit on the size
of every file of this process.

python -m tests.crash.disk        # checkpoints at every size, then the database at every size
"""

from __future__ import annotations

import contextlib
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade
from ganboard.db.runs import commands, queries, reports
from ganboard.gan.checkpoint import reader, store
from ganboard.gan.progress import Progress
from tests.recorder import Recorder
from tests.unit.db import stored_runs

KIB = 1 << 10
CHECKPOINT = 512 * KIB


@dataclass(frozen=True)
class SmallDisk:
    """`path` on a disk that can be filled by somebody else, and freed again; `kind` says how it is
    made."""

    path: Path
    kind: str

    def fill(self) -> None:
        if self.kind != "tmpfs":
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
            )
            return
        with contextlib.suppress(OSError), (self.path / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4 * KIB))

    def free(self) -> None:
        if self.kind != "tmpfs":
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            return
        (self.path / "filler").unlink()


@contextmanager
def small_disk(path: Path, size: int, *, mount: bool = True) -> Iterator[SmallDisk]:
    """A disk of `size` bytes (at least a page) at `path`, which must not exist."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={max(size, 4 * KIB)}", "tmpfs", str(path)]
    if mount and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        try:
            yield SmallDisk(path, "tmpfs")
        finally:
            # whatever a failing test still holds open
            subprocess.run(["umount", "--lazy", str(path)], check=True)
        return
    limits, handler = (
        resource.getrlimit(resource.RLIMIT_FSIZE),
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield SmallDisk(path, "RLIMIT_FSIZE")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def save_until_full(disk: SmallDisk) -> tuple[int, int]:
    """Save, list and prune six checkpoints as the trainer does; a listed one must load. Returns
    (saved, refused)."""
    directory, listed, refused = disk.path / "checkpoints", [], 0
    expected = arrays(0)
    for step in range(1, 7):
        try:
            saved = store.save(directory, arrays(step), Progress(step), digest="c", attempt=1)
        except reader.CheckpointError as error:
            if "ree some space" not in str(error):
                raise
            refused += 1
        else:
            listed = [(step, 1, saved.digest), *listed][:2]
            store.prune(directory, 2)
        assert reader.verify(directory, listed) == {}
        recorder = Recorder()
        found = store.load(directory, expected, digest="c", sink=recorder)
        assert recorder.events == []
        assert (found[1].step if found else None) == (listed[0][0] if listed else None)
        assert found is None or all(
            np.array_equal(found[0][name], array) for name, array in arrays(found[1].step).items()
        )
    assert not list(directory.glob("*.tmp"))
    return 6 - refused, refused


def arrays(step: int) -> dict[str, np.ndarray]:
    return {"generator/kernel": np.full(CHECKPOINT // 4, step, np.float32)}


def write_until_full(disk: SmallDisk, migrated: Path, blocks: int) -> tuple[int, int]:
    """Write `blocks` of steps and commands, have somebody fill the disk, free it, go on. Returns
    (acknowledged, refused) blocks.

    Fails if an acknowledged row is lost, the database is damaged, or it does not go on.
    """
    (disk.path / "ganboard.db").write_bytes(migrated.read_bytes())
    engine = make_engine(f"sqlite:///{disk.path / 'ganboard.db'}")
    own = stored_runs.training(engine, lease_seconds=3600.0)
    acknowledged, refused, notes = 0, 0, 0
    losses = np.random.default_rng(0).random((3000, 100), np.float32)

    def write() -> bool:
        nonlocal acknowledged, notes
        try:
            reports.append_steps(
                engine,
                **own,
                epoch=acknowledged + 1,
                first=0,
                g_losses=losses[acknowledged],
                d_losses=-losses[acknowledged],
            )
            acknowledged += 1
            commands.renew(engine, **own)
            reports.add_event(engine, **own, level="info", text=f"note {notes}")
            notes += 1
        except DBAPIError as error:
            if not any(words in str(error) for words in ("full", "disk I/O error")):
                raise
            return False
        return True

    def check() -> None:
        fresh: Engine = make_engine(str(engine.url))
        for epoch in range(1, acknowledged + 1):
            row = queries.step_losses(fresh, str(own["run_id"]), epoch)
            assert row is not None
            assert np.array_equal(row.g_losses, losses[epoch - 1])
        texts = [event.text for event in queries.events(fresh, str(own["run_id"]), limit=None)]
        assert {f"note {n}" for n in range(notes)} <= set(texts)
        with fresh.connect() as connection:
            assert connection.execute(text("PRAGMA integrity_check")).scalars().all() == ["ok"]
        fresh.dispose()

    for _ in range(blocks):
        assert write(), "there is room"
    disk.fill()
    for _ in range(5):
        while write():  # SQLite may have pages left
            pass
        refused += 1
    disk.free()
    check()
    for _ in range(blocks):
        assert write(), "it does not go on"
    check()
    engine.dispose()
    return acknowledged, refused


def checkpoint_sizes(preflight: bool) -> range:
    return range(0, 2 * CHECKPOINT + (store._MARGIN if preflight else 0) + 1, 64 * KIB)


@contextmanager
def without_preflight() -> Iterator[None]:
    """As when another process takes the room between the look and the write."""
    with patch.object(store, "_no_room", lambda directory, arrays: None):
        yield


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "disk"
        for look in (contextlib.nullcontext, without_preflight):
            for size in checkpoint_sizes(look is contextlib.nullcontext):
                with look(), small_disk(place, size) as disk:
                    saved, refused = save_until_full(disk)
                place.rmdir()
                words = "with" if look is contextlib.nullcontext else "without"
                print(
                    f"{disk.kind} of {size >> 10:5} KB, {words} preflight: {saved} checkpoints"
                    f" saved, {refused} refused"
                )
        migrated = Path(name) / "migrated.db"
        engine = make_engine(f"sqlite:///{migrated}")
        upgrade(engine)
        engine.dispose()
        for size in range(1 << 20, (8 << 20) + 1, 1 << 20):
            with small_disk(place, size) as disk:
                written, refused = write_until_full(disk, migrated, 5 * (size >> 20))
            place.rmdir()
            print(
                f"{disk.kind} of {size >> 20} MB: {written} blocks of steps acknowledged and kept,"
                f" {refused} refused while it was full"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
