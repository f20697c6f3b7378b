"""Table, progress and plot of a made-up benchmark."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ganboard.gan.config import ConfigError
from ganboard.worker.bench import view
from ganboard.worker.bench.candidates import CANDIDATES
from ganboard.worker.bench.report import Result, document
from ganboard.worker.bench.runner import Doing
from tests.factories import HARDWARE

BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}


@pytest.fixture
def found() -> dict[str, Any]:
    def result(name: str, *rates: float, **more: Any) -> Result:
        return Result(
            replace(BY_NAME[name], precision="float32"), dict(enumerate(rates, 1)), **more
        )

    results = [
        result("bare", 600, 670, 660, memory_bytes=3 << 29),
        result("tutorial", 500, 500, 500),
        result("start", seconds={1: 5.0, 2: 5.5}),
        result("jax", problem="not installed: pip install jax"),
    ]
    about = {
        "seconds": 75.0,
        "model": "dcgan",
        "gflop_per_image": 0.1,
        "data": "Digits.",
        "batch": 256,
        "rounds": 3,
        "hardware": HARDWARE,
    }
    return document(results, about)


def test_the_table_has_medians_spread_ratios_and_what_is_missing(
    found: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    view.show(found)
    measured = capsys.readouterr().out
    (row,) = [
        line.split()
        for line in measured.splitlines()
        if line.strip().startswith("ganboard's trainer alone")
    ]
    assert row[3:] == [
        "float32",
        "660",
        "600",
        "-",
        "670",
        "0.388",
        "66",
        "1.32",
        "-",
        "-",
        "1.5",
        "GiB",
    ]
    assert "JAX, jitted, float32: not installed: pip install jax" in measured
    assert "goal: float32 >= 1.90 x the tutorial's loop in float32: 1.32 missed" in measured
    assert "goal: 2 replicas >= 0.97 x one: not measured" in measured
    assert "to first step: 5.2 s (5.0 - 5.5)" in measured


def test_another_model_is_measured_beside_our_trainer_alone(
    found: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    view.show({**found, "model": "gan3d", "goals": []})
    measured = capsys.readouterr().out
    assert "x bare" in measured
    assert "tutorial's loop in" not in measured
    assert "goal" not in measured


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with view.Lines() as lines:
        lines.doing(Doing(1, "starting bare float32", None))
        lines.done("round 1/2: bare float32: 450 images/s", 75.0)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "round 1/2: bare float32: 450 images/s (about 1 min 15 s left)\n"


def test_a_page_needs_no_network(found: dict[str, Any], tmp_path: Path) -> None:
    page = tmp_path / "speed.html"
    assert view.plot(found, page) == f"The plot is in {page}."
    text = page.read_text()
    assert "ganboard's trainer alone" in text or "ganboard\\u0027s trainer alone" in text
    assert 'src="http' not in text


@pytest.mark.skipif(
    importlib.util.find_spec("kaleido") is not None, reason="kaleido is installed here"
)
def test_without_kaleido_an_image_becomes_a_page_and_that_is_said(
    found: dict[str, Any], tmp_path: Path
) -> None:
    view.check_plot(tmp_path / "speed.png")
    said = view.plot(found, tmp_path / "speed.png")
    assert "pip install kaleido" in said
    assert str(tmp_path / "speed.html") in said
    assert [path.name for path in tmp_path.iterdir()] == ["speed.html"]


@pytest.mark.parametrize("name", ["speed.pdf", "speed", "none/speed.html"])
def test_a_plot_that_cannot_be_written_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=name):
        view.check_plot(tmp_path / name)
