"""What processes and devices use: measured values where they are readable, and a reason where they
are not."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from ganboard.db.models import UsageSample
from ganboard.worker.training.usage import Gpus, Usage
from tests.polling import wait_until

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def child() -> Iterator[int]:
    """A process that computes, below this one."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process.pid
        process.kill()


def by_name(usage: Usage) -> dict[str, UsageSample]:
    return {sample.name: sample for sample in usage.sample(NOW)}


def test_every_process_of_the_run_is_sampled(child: int) -> None:
    usage = Usage("abcdefghjk", 2)
    found: dict[str, UsageSample] = {}

    def busy() -> bool:
        found.update(by_name(usage))
        return any((one.cpu_percent or 0) > 20 for one in found.values() if one.pid == child)

    wait_until(busy, seconds=30, what="the CPU use of the child")
    trainer = found["Trainer"]
    assert (trainer.run_id, trainer.attempt, trainer.at) == ("abcdefghjk", 2, NOW)
    assert (trainer.rss_bytes or 0) > 1e7
    [of_child] = [name for name, one in found.items() if one.pid == child]
    assert of_child.startswith("Trainer: ")


def test_what_is_not_readable_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    found = by_name(Usage("abcdefghjk", 1))
    assert found["GPUs"].note == "nvidia-ml-py is not installed (pip install nvidia-ml-py)"
    processors = found["Processors"]
    assert processors.watts is not None or processors.note is not None or processors.pid is None


def nvml(**functions: Any) -> types.ModuleType:
    """A stand-in for NVML with two GPUs."""
    module = types.ModuleType("pynvml")
    values = {
        "NVMLError": RuntimeError,
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        **functions,
    }
    for name, value in values.items():
        setattr(module, name, value)
    return module


def unsupported(*_: object) -> None:
    raise RuntimeError("Not Supported")


def test_gpus_are_read_by_device_and_process(monkeypatch: pytest.MonkeyPatch) -> None:
    space = types.SimpleNamespace
    running = [space(pid=7, usedGpuMemory=100), space(pid=8, usedGpuMemory=None)]
    used = [space(pid=7, smUtil=30, timeStamp=5), space(pid=7, smUtil=40, timeStamp=6)]
    module = nvml(
        nvmlDeviceGetComputeRunningProcesses=lambda handle: running,
        nvmlDeviceGetProcessUtilization=lambda handle, seen: used,
        nvmlDeviceGetUtilizationRates=lambda handle: space(gpu=55),
        nvmlDeviceGetMemoryInfo=lambda handle: space(used=2**30),
        nvmlDeviceGetPowerUsage=lambda handle: 70_500 if handle == 0 else unsupported(),
    )
    monkeypatch.setitem(sys.modules, "pynvml", module)
    gpus = Gpus()
    assert gpus.memory() == {7: 200.0}
    assert gpus.utilization() == {7: 80.0}
    first, second = gpus.devices()
    assert first == {
        "name": "GPU 0", "gpu_percent": 55.0, "gpu_memory_bytes": 2.0**30, "watts": 70.5,
        "note": None,
    }  # fmt: skip
    assert (second["watts"], second["note"]) == (None, "this GPU does not report its power")


def test_a_machine_without_a_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml(nvmlInit=unsupported))
    gpus = Gpus()
    assert gpus.devices() == [{"name": "GPUs", "note": "NVML does not start here (Not Supported)"}]
    assert gpus.memory() == gpus.utilization() == {}
