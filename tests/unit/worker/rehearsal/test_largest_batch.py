"""The search for the largest batch, on devices whose memory is a function of the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ganboard.worker.rehearsal import largest_batch

GB = 10**9


class Device:
    """Memory that a batch takes; refuses like a TPU's compiler."""

    def __init__(self, memory: int, takes: Callable[[int], float], unit: int = 1) -> None:
        self.memory, self.takes, self.unit = memory, takes, unit
        self.compiled: list[int] = []

    def __call__(self, batch: int) -> dict[str, Any]:
        self.compiled.append(batch)
        assert batch % self.unit == 0
        total = int(self.takes(batch))
        if total > self.memory:
            return {"batch_size": batch, "compiles": False, "reason": "RESOURCE_EXHAUSTED: HBM"}
        return {
            "batch_size": batch,
            "compiles": True,
            "memory": {"total": total},
            "device_memory": self.memory,
        }


@pytest.mark.parametrize(
    "takes",
    [
        lambda batch: 0.1 * GB + 3e6 * batch,
        lambda batch: 2e6 * batch * (1 + batch / 10_000),  # padding that grows
        lambda batch: 0.5 * GB + 4e6 * (-(-batch // 128) * 128),  # tiles of 128
    ],
)
def test_the_limit_is_found_in_a_few_compilations(takes: Callable[[int], float]) -> None:
    device = Device(16 * GB, takes)
    found = largest_batch.search(device(64), 1, "tpu", device)
    low, high = found["batch"], found["too_large"]
    assert takes(low) <= device.memory < takes(high)
    assert high - low <= max(1, low / 8)
    assert found["memory"] == int(takes(low))
    assert "RESOURCE_EXHAUSTED" in found["reason"]
    assert found["compilations"] == len(device.compiled) - 1 <= largest_batch.TRIES


def test_batches_divide_among_the_replicas() -> None:
    device = Device(16 * GB, lambda batch: 7e6 * batch, unit=24)
    found = largest_batch.search(device(48), 24, "tpu", device)
    assert found["batch"] % 24 == found["too_large"] % 24 == 0


def test_a_batch_that_does_not_fit_is_lowered() -> None:
    device = Device(16 * GB, lambda batch: 1 * GB + 9e6 * batch)
    found = largest_batch.search(device(8192), 1, "tpu", device)
    assert device.takes(found["batch"]) <= device.memory < device.takes(found["too_large"])


def test_where_not_even_one_fits_there_is_none() -> None:
    device = Device(GB, lambda batch: 2 * GB)
    found = largest_batch.search(device(4), 1, "tpu", device)
    assert (found["batch"], found["memory"]) == (0, None)


def test_the_limit_of_the_setting_is_no_limit_of_the_device() -> None:
    device = Device(16 * GB, lambda batch: 1e3 * batch)
    found = largest_batch.search(device(64), 1, "tpu", device)
    assert (found["batch"], found["too_large"]) == (largest_batch.MOST, None)


def test_a_gpu_keeps_a_reserve() -> None:
    report = {"compiles": True, "memory": {"total": 79 * 2**30 + 1}, "device_memory": 80 * 2**30}
    assert largest_batch.fits(report, "tpu")
    assert not largest_batch.fits(report, "gpu")
