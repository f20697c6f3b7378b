"""Full disks: a sample of sizes; `python -m tests.crash.disk` tries all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.crash.disk import (
    SmallDisk,
    checkpoint_sizes,
    save_until_full,
    small_disk,
    without_preflight,
    write_until_full,
)

KINDS = pytest.mark.parametrize("kind", ["tmpfs", "RLIMIT_FSIZE"])


@contextmanager
def disk_of(kind: str, path: Path, size: int) -> Iterator[SmallDisk]:
    with small_disk(path, size, mount=kind == "tmpfs") as disk:
        if disk.kind != kind:
            pytest.skip(
                "nothing may be mounted here: the limit on the size of files stands in for it"
            )
        yield disk


@KINDS
@pytest.mark.parametrize("preflight", [True, False])
def test_a_checkpoint_is_whole_or_refused_at_any_size_of_the_disk(
    tmp_path: Path, kind: str, preflight: bool
) -> None:
    outcomes = set()
    for number, size in enumerate(checkpoint_sizes(preflight)[::4]):
        with (
            nullcontext() if preflight else without_preflight(),
            disk_of(kind, tmp_path / str(number), size) as disk,
        ):
            outcomes.add(save_until_full(disk))
    assert (0, 6) in outcomes
    assert len(outcomes) > 1, "no disk was large enough for a checkpoint"


@KINDS
@pytest.mark.parametrize("megabytes", [1, 3])
def test_a_full_disk_loses_no_acknowledged_row_and_writing_goes_on(
    tmp_path: Path, migrated_file: Path, kind: str, megabytes: int
) -> None:
    blocks = 5 * megabytes
    with disk_of(kind, tmp_path / "disk", megabytes << 20) as disk:
        acknowledged, refused = write_until_full(disk, migrated_file, blocks)
    assert acknowledged >= 2 * blocks
    assert refused == 5
