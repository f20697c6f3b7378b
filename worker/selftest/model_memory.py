"""The memory that a training takes, beside the estimate before its start."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ganboard.gan.settings import registry
from ganboard.worker.errors import ServiceFailed

_SECONDS = 600.0


def measure(model: str) -> dict[str, Any]:
    """Bytes `estimated` and `measured`, and the settings: two steps at the batch of the model's
    benchmark. Raises ServiceFailed."""
    usual = registry.get(model).spec.benchmark
    settings = {
        "model": model,
        "dataset": "digits",
        **usual.settings,
        "batch_size": usual.batch,
        "limit": 2 * usual.batch,
        "epochs": 1,
        "grid_size": 1,
        "snapshots": 0,
    }
    with tempfile.TemporaryDirectory(prefix="ganboard-check-") as name:
        command = [sys.executable, "-m", "ganboard.gan.verification.equivalence"]
        done = subprocess.run(
            [*command, json.dumps(settings), str(Path(name, "run")), name, "memory"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise ServiceFailed(f"The training failed: {last[:300]}")
    facts = json.loads(lines[-1])
    return {
        "estimated": facts["estimated_memory_bytes"],
        "measured": facts["measured_memory_bytes"],
        "settings": settings,
    }
