from __future__ import annotations

from typing import Any

import pytest

from ganboard.gan.rehearsal import recognition


def gpus(*names: str) -> dict[str, Any]:
    return {"gpus": [{"name": name, "memory_bytes": None} for name in names], "tpus": []}


def tpu(kind: str, cores: int) -> dict[str, Any]:
    chips = {"kind": kind, "number": cores}
    return {"gpus": [], "tpus": [f"TPU:{n}" for n in range(cores)], "tpu_chips": chips}


@pytest.mark.parametrize(
    ("hardware", "target"),
    [
        (gpus("Tesla T4", "Tesla T4"), "t4"),
        (gpus("NVIDIA H100 80GB HBM3"), "h100"),
        (gpus("NVIDIA A100-SXM4-80GB"), "a100"),
        (gpus("NVIDIA A100-SXM4-40GB"), None),
        (gpus("NVIDIA GeForce GTX 1080"), None),
        (tpu("v5e", 1), "v5e-1"),
        (tpu("v5e", 8), "v5e-8"),
        (tpu("v5e", 2), None),
        (tpu("v5p", 4), None),
        (gpus(), None),
    ],
)
def test_a_machine_is_recognized_by_its_devices(
    hardware: dict[str, Any], target: str | None
) -> None:
    found = recognition.target(hardware)
    assert (found.name if found else None) == target


def test_several_gpus_are_a_target_of_their_own() -> None:
    found = recognition.target(gpus("Tesla T4", "Tesla T4"), 2)
    assert found is not None
    assert (found.name, found.devices) == ("2xt4", 2)
