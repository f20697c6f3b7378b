"""Days without TensorFlow: a machine that is made up, and steps that answer at once."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.worker.context import Context
from ganboard.worker.firstday import day as days
from ganboard.worker.firstday.day import Day, Options

CPU: dict[str, Any] = {
    "host": "box",
    "cpu": "Some processor",
    "cores": 2,
    "memory_bytes": 16 << 30,
    "cpu_flags": ["avx512_bf16"],
    "gpus": [],
    "tpus": [],
    "versions": {"tensorflow": "2.21.0"},
    "devices": "Some processor, 2 cores",
    "unused": "",
}
T4 = {**CPU, "gpus": [{"name": "Tesla T4", "memory_bytes": 15 << 30}], "devices": "Tesla T4"}
V5E = {
    **CPU,
    "tpus": [f"TPU:{n}" for n in range(8)],
    "tpu_chips": {"kind": "v5e", "number": 8},
    "devices": "8 TPU cores",
}
STEP: dict[str, Any] = {
    "losses": [[0.7, 1.4], [0.69, 1.35], [0.68, 1.3]],
    "compile_seconds": 2.0,
    "step_seconds": 0.002,
    "timed_steps": 100,
    "memory_bytes": 500 << 20,
    "memory_of": "device",
    "off_accelerator": [],
    "form": "direct convolution, no XLA",
    "parameters": [1, 1],
}


def make_day(context: Context, folder: Path, hardware: dict[str, Any], **options: Any) -> Day:
    """A day on `hardware` with ten minutes left."""
    ends = time.monotonic() + 600
    asked = Options(**{"minutes": 10.0, **options})
    day = Day(context, asked, "box-ab12cd34", hardware, folder, ends)
    day.part, day.part_ends = "Part", ends
    return day


class Steps:
    """Stands for the processes that take steps, and keeps what they were asked; `answers` by
    precision change what they say."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.environments: list[dict[str, str]] = []
        self.answers: dict[str, Any] = {}
        self.moved = 1.0  # of the weights, by the steps
        monkeypatch.setattr(days.json_child, "ask", self.ask)

    def ask(self, arguments: Sequence[str], seconds: float, **options: Any) -> dict[str, Any]:
        job = json.loads(arguments[-1])
        self.jobs.append(job)
        self.environments.append(dict(options.get("environment", {})))
        replicas = job["config"]["replicas"]
        for name, value in (("start", 0.0), ("arrays", 0.01 + 1e-8 * self.moved * replicas)):
            if name in job:
                weights = {f"{net}/w": np.full(3, value) for net in ("generator", "discriminator")}
                np.savez(job[name], **weights)
        answer = self.answers.get(job["config"]["precision"], {})
        if isinstance(answer, Exception):
            raise answer
        return {**STEP, **answer}
