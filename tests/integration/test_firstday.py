"""A first day for real, on whatever this machine has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.db import calibrations
from ganboard.worker.context import Context
from ganboard.worker.firstday import importing
from tests.cli import document

pytestmark = pytest.mark.thorough


def test_a_quick_day_ends_well_and_goes_to_another_home(
    context: Context, tmp_path: Path, new_home: Callable[[Path], Context]
) -> None:
    path = tmp_path / "day.zip"
    found = document("firstday", "--quick", "--bundle", str(path))
    states = {part["name"]: part["status"] for part in found["parts"]}
    assert found["ok"], found["parts"]
    assert states.pop("bench") == states.pop("study") == "not done"
    assert set(states.values()) == {"ok"}
    resume = next(part for part in found["parts"] if part["name"] == "resume")
    assert "Identical bits" in resume["text"]
    assert "First day on" in path.with_suffix(".html").read_text()
    there = new_home(tmp_path / "there")
    assert importing.read_in(there, path).calibrations == len(found["calibrations"]) > 0
    assert len(calibrations.listed(there.engine)) == len(found["calibrations"])


def test_the_doctor_multiplies_and_takes_a_step(context: Context) -> None:
    found = document("doctor", "--accelerator")
    names = [check["name"] for check in found["checks"]]
    assert names[:2] == ["tensorflow", "devices"]
    assert names[-4:] == ["product float32", "product bfloat16", "product float16", "placement"]
    assert found["ok"], found["checks"]
