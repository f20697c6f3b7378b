from __future__ import annotations

import pytest

from ganboard.gan.devices import hardware, peak_flops, probe
from tests.factories import HARDWARE


def test_rates_are_measured_where_a_processor_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "describe", lambda: HARDWARE)
    found = probe.describe()
    rates = found.pop("cpu_rates")
    assert found == HARDWARE
    assert set(rates) == {"float32", "mixed_bfloat16"}
    assert min(rates.values()) > 0.1


def test_beside_an_accelerator_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "describe", lambda: {**HARDWARE, "gpus": [{"name": "a"}]})
    monkeypatch.setattr(peak_flops, "per_cpu_second", lambda _: pytest.fail("measured"))
    assert "cpu_rates" not in probe.describe()
