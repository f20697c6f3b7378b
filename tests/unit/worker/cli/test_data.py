"""`ganboard data`: showers into a file, and what is in files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.cli import document, ganboard, on_a_terminal, refused


def test_showers_are_written_and_checked(tmp_path: Path) -> None:
    file = str(tmp_path / "Ele_1.h5")
    said = ganboard("data", "showers", file, "--events", "40", "--seed", "3").stdout
    assert "40 showers of 100 to 200 GeV in the layout variable" in said
    assert f"ganboard data check {file}" in said
    text = ganboard("data", "check", file, file).stdout
    for part in (
        "Layout variable, 51 x 51 x 25 cells, angles from mtheta",
        "80 events in 2 files, 80 kept",
        "mean sampling fraction 0.0",
    ):
        assert part in text


def test_json_says_the_same(tmp_path: Path) -> None:
    file = str(tmp_path / "Ele_1.h5")
    made = document(
        "data",
        "showers",
        file,
        "--events",
        "33",
        "--layout",
        "fixed",
        "--energy-low",
        "10",
        "--energy-high",
        "20",
    )
    assert (made["events"], made["layout"], made["bytes"]) == (
        33,
        "fixed",
        Path(file).stat().st_size,
    )
    found = document("data", "check", file)
    assert (found["layout"], found["cells"], found["events"], found["kept"]) == (
        "fixed",
        [25, 25, 25],
        33,
        33,
    )
    assert 10 <= found["energy_low"] < found["energy_high"] <= 20
    assert 0.018 < found["sampling_fraction"] < 0.023
    assert found["angle"] == "cells"


def test_the_fixed_layout_has_straight_showers(tmp_path: Path) -> None:
    file = tmp_path / "f.h5"
    ganboard("data", "showers", str(file), "--events", "40", "--layout", "fixed")
    with h5py.File(file) as opened:
        sums = opened["ECAL"][:].sum((0, 1, 3))
    assert sums[:12].sum() == pytest.approx(sums[13:].sum(), rel=0.05)


def test_the_seed_decides(tmp_path: Path) -> None:
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        ganboard("data", "showers", str(tmp_path / name), "--events", "5", "--seed", seed)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    file = str(tmp_path / "x.h5")
    assert "choose a range within 2 to 500 GeV" in refused(
        "data", "showers", file, "--energy-high", "501"
    )
    assert "is not a file" in refused("data", "check", file)
    Path(file).write_text("no HDF5")
    assert "already exists" in refused("data", "showers", file)
    assert "is not HDF5" in refused("data", "check", file)
    ganboard("data", "showers", file, "--events", "0", code=2)
    ganboard("data", "check", code=2)


def test_a_bad_event_is_named(tmp_path: Path) -> None:
    file = str(tmp_path / "x.h5")
    ganboard("data", "showers", file, "--events", "40")
    with h5py.File(file, "a") as opened:
        opened["ECAL"][35, 1, 1, 1] = np.nan
    assert "event 35 has cells" in refused("data", "check", file)


def test_a_terminal_shows_how_far_it_is_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "x.h5"
    output, code = on_a_terminal(
        ["data", "showers", str(file), "--events", "1000000"], after="/1000000", typed=b"\x03"
    )
    assert code == 130, output
    assert "interrupted" in output
    assert list(tmp_path.iterdir()) == []


def test_no_tensorflow_is_loaded(tmp_path: Path) -> None:
    script = f"""
import sys
from ganboard.worker.cli.main import app
path = {str(tmp_path / "x.h5")!r}
for words in (["showers", path, "--events", "3"], ["check", path]):
    try:
        app(["data", *words])
    except SystemExit as ended:
        assert not ended.code, words
import ganboard.gan.models.gan3d.evaluation.comparison
heavy = {{"tensorflow", "keras", "streamlit", "sqlalchemy"}} & set(sys.modules)
sys.exit(f"loaded: {{sorted(heavy)}}" if heavy else 0)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


def test_a_pipe_gets_a_line_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ganboard.worker.terminal.progress_bar.LINE_SECONDS", 0)
    said = ganboard("data", "showers", str(tmp_path / "x.h5"), "--events", "40")
    assert "showers: 32 of 40 events" in said.stderr
    assert "showers:" not in said.stdout
