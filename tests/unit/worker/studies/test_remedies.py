"""Advice on a bottleneck: only what the run does not do already and what helps on its machine."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.db.models import Run
from ganboard.gan.models.dcgan.config import Config
from ganboard.worker.studies.remedies import remedy
from tests.factories import HARDWARE

BFLOAT16 = {**HARDWARE, "cpu_flags": ["avx2", "amx_bf16"]}
GPUS = {**HARDWARE, "gpus": [{"name": "Test GPU", "memory_bytes": 80 << 30}] * 2}


def run(hardware: dict[str, Any] | None = BFLOAT16, **changes: Any) -> Run:
    config = Config(**changes).model_dump(mode="json")
    return Run(name="", config=config, hardware=hardware, examples=1920)


@pytest.mark.parametrize(
    ("part", "found", "advice"),
    [
        ("compute_seconds", run(), "Try precision=mixed_bfloat16."),
        ("compute_seconds", run(precision="mixed_bfloat16"), ""),  # XLA saves nothing on a CPU
        ("compute_seconds", run(HARDWARE), ""),  # without instructions for bfloat16
        ("compute_seconds", run(GPUS), "Try precision=mixed_bfloat16 or xla=true or replicas=2."),
        ("compute_seconds", run(GPUS, xla=True, precision="mixed_float16"), "Try replicas=2."),
        ("compute_seconds", run(None), ""),
        ("reduce_seconds", run(replicas=2), "Try batch_size=128 or replicas=1."),
        ("input_seconds", run(batch_size=1920), ""),  # the data have no more
        ("host_seconds", run(epochs=4, grid_every=4), "Try checkpoint_every=2."),
    ],
)
def test_only_what_helps_is_advised(part: str, found: Run, advice: str) -> None:
    assert remedy(part, found) == advice


def test_settings_of_another_version_get_no_advice() -> None:
    found = run()
    found.config = {**found.config, "precision": "float8"}
    assert remedy("compute_seconds", found) == ""
    found.config = {**run().config, "unknown": 1}
    assert remedy("compute_seconds", found) == "Try precision=mixed_bfloat16."
