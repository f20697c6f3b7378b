"""Kept weights: which epochs, how exactly, and that damaged ones are recognised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.checkpoint import snapshots

SHAPES = {"g": [(3, 4), (4,)], "d": [(2,)]}


def moves(scale: float = 0.01) -> list[snapshots.Moves]:
    generator = np.random.default_rng(0)
    return [
        [(scale * generator.standard_normal(shape)).astype(np.float32) for shape in shapes]
        for shapes in SHAPES.values()
    ]


@pytest.mark.parametrize(
    ("epochs", "kept", "due"),
    [
        (6, 10, [1, 2, 3, 4, 5, 6]),
        (30, 10, list(range(3, 31, 3))),
        (7, 3, [1, 4, 7]),
        (5, 1, [5]),
        (5, 0, []),
        (1, 10, [1]),
    ],
)
def test_snapshots_lie_evenly_and_end_with_the_last_epoch(
    epochs: int, kept: int, due: list[int]
) -> None:
    assert [epoch for epoch in range(1, epochs + 1) if snapshots.due(epoch, epochs, kept)] == due
    assert len(due) <= max(kept, 0)


def test_a_snapshot_keeps_three_digits_however_small_the_move(tmp_path: Path) -> None:
    stored = moves(1e-3)
    snapshots.save(tmp_path / "snapshots", 4, stored)
    snapshots.save(tmp_path / "snapshots", 12, stored)
    assert snapshots.epochs(tmp_path / "snapshots") == [4, 12]
    for net, kept in zip(snapshots.NETS, stored, strict=True):
        found = snapshots.load(tmp_path / "snapshots", 4, net, SHAPES[net])
        assert found is not None
        for was, now in zip(kept, found, strict=True):
            assert now.dtype == np.float32
            assert now == pytest.approx(was, rel=1e-3, abs=1e-7)
    assert [path.name for path in (tmp_path / "snapshots").iterdir() if path.suffix != ".npz"] == []


def test_what_cannot_be_used_is_none(tmp_path: Path) -> None:
    snapshots.save(tmp_path, 1, moves())
    assert snapshots.load(tmp_path, 1, "g", [(3, 4), (5,)]) is None
    assert snapshots.load(tmp_path, 1, "g", [*SHAPES["g"], (1,)]) is None
    assert snapshots.load(tmp_path, 2, "g", SHAPES["g"]) is None
    whole = (tmp_path / "epoch-1.npz").read_bytes()
    for damaged in (b"", whole[:100], whole[:-30], b"no archive"):
        (tmp_path / "epoch-2.npz").write_bytes(damaged)
        assert snapshots.load(tmp_path, 2, "g", SHAPES["g"]) is None
    np.savez(tmp_path / "epoch-3.npz", g0=np.array([object()]), allow_pickle=True)
    assert snapshots.load(tmp_path, 3, "g", [(1,)]) is None
    snapshots.save(tmp_path, 5, moves(1e9))  # beyond 16 bits
    assert snapshots.load(tmp_path, 5, "g", SHAPES["g"]) is None
    assert snapshots.epochs(tmp_path / "absent") == []
