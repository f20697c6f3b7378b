"""`ganboard bench` with real candidates on digits: one document, everyone measured in every round,
nobody left behind."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.cli import document, ganboard, refused


@pytest.mark.slow
@pytest.mark.thorough
def test_real_candidates_take_turns(home: Path) -> None:
    options = ["--batch", "32", "--steps", "2", "--rounds", "2", "--precision", "float32"]
    before = set(psutil.Process().children(recursive=True))
    found = document("bench", *options, "--only", "bare,start,tutorial,floor,jax")
    assert [one["name"] for one in found["candidates"]] == [
        "bare",
        "start",
        "tutorial",
        "jax",
        "floor",
    ]
    measured = {one["name"]: one for one in found["candidates"]}
    for name in ("bare", "tutorial", "floor"):
        assert len(measured[name]["images_per_second"]["rounds"]) == 2, measured[name]["problem"]
        assert measured[name]["images_per_second"]["min"] > 0
        assert measured[name]["memory_bytes"] > 1e8
    assert measured["tutorial"]["ratios"]["tutorial"] == 1.0
    assert len(measured["start"]["start_seconds"]["rounds"]) == 2
    assert measured["jax"]["images_per_second"] or measured["jax"]["problem"]
    assert found["hardware"]["versions"]["tensorflow"]
    assert found["batch"] == 32
    assert next(goal["goal"] for goal in found["goals"] if goal["met"] is not None).startswith(
        "float32 >= 1.90 x the tutorial"
    )
    assert not set(psutil.Process().children(recursive=True)) - before
    assert not list(home.glob("bench-*"))


@pytest.mark.slow
@pytest.mark.thorough
def test_a_run_of_the_platform_is_timed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ganboard.worker.bench.runner.SAVE_SECONDS", 0.1)
    monkeypatch.setattr("ganboard.worker.bench.benchmark.EPOCH_STEPS", 4)
    found = document(
        "bench",
        "--batch",
        "32",
        "--steps",
        "1",
        "--rounds",
        "1",
        "--precision",
        "float32",
        "--only",
        "platform",
    )
    (platform,) = found["candidates"]
    assert platform["problem"] is None
    assert platform["images_per_second"]["min"] > 0
    assert platform["alone_images_per_second"]["min"] > 0
    assert (
        next(goal["reached"] for goal in found["goals"] if goal["goal"].startswith("through queue"))
        > 0
    )
    assert not (home / "ganboard.db").exists()  # its runs are not among the user's


@pytest.mark.slow
@pytest.mark.thorough
def test_seconds_to_a_quality_of_a_real_run(home: Path) -> None:
    found = document(
        "bench", "quality", "tiny", "--dataset", "digits", "--fid", "1e6", "--seeds", "1"
    )
    (recipe,) = found["recipes"]
    (attempt,) = recipe["attempts"]
    assert attempt["problem"] == ""
    assert attempt["epoch"] == 1  # any images will do
    assert 0 < attempt["training_seconds"] < attempt["wall_seconds"]
    assert recipe["training_seconds"]["median"] == attempt["training_seconds"]
    assert not (home / "ganboard.db").exists()  # its runs are not among the user's
    assert not list(home.glob("bench-*"))


def test_bad_input_is_one_sentence(home: Path, tmp_path: Path) -> None:
    assert "rounds=0" in refused("bench", "--rounds", "0")
    assert "batch_size=0" in refused("bench", "--batch", "0")
    assert "'keras' is not a candidate" in refused("bench", "--only", "bare,keras")
    assert "fp8" in refused("bench", "--precision", "fp8")
    assert "--peer-python" in refused("bench", "--peer-python", "no-such-python")
    assert "speed.pdf" in refused("bench", "--plot", str(tmp_path / "speed.pdf"))


def test_help_names_the_candidates() -> None:
    assert "pytorch-compiled" in ganboard("bench", "--help").stdout
