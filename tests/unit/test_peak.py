from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
import tensorflow as tf

from gan import peak


def test_the_fastest_of_the_largest_products_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now, sizes = 0.0, []

    def product(a: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
        nonlocal now
        sizes.append(int(a.shape[0]))
        slowness = 3 if len(sizes) % 2 else 1  # every other try is disturbed
        now += slowness * 2 * sizes[-1] ** 3 / 100e9
        return a

    monkeypatch.setattr(peak, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(tf, "matmul", product)
    assert peak.gflops.__wrapped__("float32") == pytest.approx(100)
    assert sizes[0] == 512
    assert sizes[-1] == 1024  # 2 * 1024 ** 3 FLOP take 21 ms at 100 GFLOP/s: long enough
    assert now < 1


def test_a_precision_is_measured_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    first = peak.gflops("float32")
    assert first > 0.1
    monkeypatch.setattr(tf, "matmul", lambda *_: pytest.fail("measured again"))
    assert peak.gflops("float32") == first


def test_it_works_in_sixteen_bits_where_operations_must_be_deterministic() -> None:
    code = "import tensorflow as tf; from gan import peak; tf.config.experimental.enable_op_determinism(); print(peak.gflops('{}'))"
    code = code.format("mixed_bfloat16")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert float(done.stdout) > 0.1


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(KeyError):
        peak.gflops("float64")
