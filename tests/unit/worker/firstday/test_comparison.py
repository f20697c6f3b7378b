from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ganboard.worker.context import Context
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.firstday import comparison
from ganboard.worker.process.json_child import TimeLimit
from tests.unit.worker.firstday.days import CPU, V5E, make_day

FOUND: dict[str, Any] = {
    "data": "1,797 digits.",
    "batch": 64,
    "rounds": 2,
    "candidates": [
        {
            "title": "ganboard's trainer alone",
            "precision": "float32",
            "images_per_second": {"median": 1200.0},
            "ratios": {"tutorial": 1.25},
            "problem": None,
        },
        {
            "title": "PyTorch",
            "precision": "float32",
            "images_per_second": None,
            "ratios": {"tutorial": None},
            "problem": "not installed: pip install torch",
        },
    ],
}


def test_candidates_that_are_not_installed_are_listed() -> None:
    found = comparison.summary(FOUND)
    assert found.status == "ok"
    assert found.rows == [("ganboard's trainer alone", "float32", "1,200", "1.25")]
    assert found.not_done == ["PyTorch, float32: not installed: pip install torch"]


def test_a_tpu_is_not_compared(context: Context, tmp_path: Path) -> None:
    assert comparison.bench(make_day(context, tmp_path, V5E)).status == "not done"


@pytest.mark.parametrize(
    ("error", "status"), [(TimeLimit("late"), "not done"), (ServiceFailed("no"), "fail")]
)
def test_a_benchmark_that_does_not_end_is_said(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, status: str
) -> None:
    def ask(arguments: list[str], seconds: float, **_: object) -> dict[str, Any]:
        assert arguments[2] == "bench"
        raise error

    monkeypatch.setattr(comparison, "ask", ask)
    assert comparison.bench(make_day(context, tmp_path, CPU)).status == status
