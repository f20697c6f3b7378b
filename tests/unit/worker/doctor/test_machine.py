"""What doctor says of the machine that computes."""

from __future__ import annotations

import json
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from ganboard.worker.doctor.machine import tensorflow
from tests.factories import HARDWARE


@pytest.mark.parametrize(("half", "faster"), [(85.0, "float32"), (260.0, "mixed_bfloat16")])
def test_the_faster_precision_of_a_processor_is_named(
    half: float, faster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {"float32": 130.0, "mixed_bfloat16": half}
    answer = json.dumps({**HARDWARE, "gpus": [], "tpus": [], "cpu_rates": rates})
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0, stdout=answer)
    )
    monkeypatch.setattr(shutil, "which", lambda _: None)
    *_, check = tensorflow()
    assert f"{half / 130:.2f} times its float32 rate: {faster} is faster here" in check.text
