"""Peak memory, each training in a process of its own; ratios measured in one run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

MEASURE = """
import json, sys
from pathlib import Path
from ganboard.gan import data
from ganboard.gan.rng import philox
from ganboard.gan.devices import runtime
from ganboard.gan.config import parse
from ganboard.gan.devices.memory import peak_resident
config = parse(json.loads(sys.argv[1]))
runtime.prepare(config)
from ganboard.gan.distributed import strategy
from ganboard.gan.training.step import Stepper, networks
examples = data.load(config, Path()).first(config.batch_size)
stepper = Stepper(config, strategy.strategy(config), networks(config), examples)
order = philox.order(0, 1, config.batch_size)
stepper.run(order, 0, 0, 0)
before = peak_resident()
stepper.run(order, 0, 0, 1)
print(peak_resident() - before)
"""


def step_memory(**changes: Any) -> int:
    """Memory that a step needs beyond what building it did, in bytes."""
    settings = json.dumps({"dataset": "digits", "batch_size": 768, **changes})
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, settings],
        capture_output=True,
        text=True,
        timeout=200,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout)


@pytest.mark.thorough
def test_recomputing_and_accumulating_lower_the_peak() -> None:
    plain, recomputed, accumulated = (
        step_memory(),
        step_memory(recompute=True),
        step_memory(accumulate=8),
    )
    print(
        f"plain {plain / 1e6:.0f} MB, recompute {recomputed / 1e6:.0f} MB, accumulate=8"
        f" {accumulated / 1e6:.0f} MB"
    )
    assert recomputed < 0.85 * plain
    assert accumulated < 0.75 * plain


@pytest.mark.thorough
def test_recomputing_pays_for_3dgan() -> None:
    settings = {
        "model": "gan3d",
        "dataset": "showers",
        "geometry": "51x51x25",
        "batch_size": 4,
        "limit": 4,
    }
    plain, recomputed = step_memory(**settings), step_memory(**settings, recompute=True)
    print(f"plain {plain / 1e6:.0f} MB, recompute {recomputed / 1e6:.0f} MB")
    # how the threads overlap moves it by a few percent; with AVX2 alone the workspace of one
    # convolution makes the peak (1,242 and 1,230 MB), which recomputing must not raise
    makes_room = "avx512f" in Path("/proc/cpuinfo").read_text()
    assert recomputed < (0.95 if makes_room else 1.02) * plain
