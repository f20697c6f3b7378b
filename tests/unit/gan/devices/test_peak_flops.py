from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf

from ganboard.gan.devices import peak_flops
from tests.factories import HARDWARE


def test_the_fastest_of_the_largest_products_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now, sizes = 0.0, []

    def product(a: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
        nonlocal now
        sizes.append(int(a.shape[0]))
        slowness = 3 if len(sizes) % 2 else 1  # every other try is disturbed
        now += slowness * 2 * sizes[-1] ** 3 / 100e9
        return a

    monkeypatch.setattr(peak_flops, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(tf, "matmul", product)
    assert peak_flops.gflops.__wrapped__("float32") == pytest.approx(100)
    assert sizes[0] == 512
    assert sizes[-1] == 1024  # 2 * 1024 ** 3 FLOP take 21 ms at 100 GFLOP/s: long enough
    assert now < 1


def test_a_precision_is_measured_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    first = peak_flops.gflops("float32")
    assert first > 0.1
    monkeypatch.setattr(tf, "matmul", lambda *_: pytest.fail("measured again"))
    assert peak_flops.gflops("float32") == first


@pytest.mark.thorough
def test_it_works_in_sixteen_bits_where_operations_must_be_deterministic() -> None:
    code = (
        "import tensorflow as tf; from ganboard.gan.devices import peak_flops as peak;"
        " tf.config.experimental.enable_op_determinism(); print(peak.gflops('{}'))"
    )
    code = code.format("mixed_bfloat16")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert float(done.stdout) > 0.1


def test_the_best_of_a_machine_and_precision_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, other = HARDWARE, {**HARDWARE, "host": "other"}
    measured = {"float32": 132.1, "mixed_bfloat16": 50.0}
    monkeypatch.setattr(peak_flops, "gflops", lambda precision: measured[precision])
    assert peak_flops.best("float32", here, tmp_path / "new") == 132.1
    measured["float32"] = 478.3
    assert peak_flops.best("float32", here, tmp_path / "new") == 478.3
    measured["float32"] = 140.0  # something else runs beside it
    assert peak_flops.best("float32", here, tmp_path / "new") == 478.3
    assert peak_flops.best("mixed_bfloat16", here, tmp_path / "new") == 50.0
    assert peak_flops.best("float32", other, tmp_path / "new") == 140.0


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(peak_flops, "gflops", lambda precision: 100.0)
    (tmp_path / "file").touch()
    assert peak_flops.best("float32", HARDWARE, tmp_path / "file") == 100.0


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"nan", b"inf", b"-1", b"47"])
def test_what_a_power_cut_left_of_it_is_measured_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    monkeypatch.setattr(peak_flops, "gflops", lambda precision: 100.0)
    peak_flops.best("float32", HARDWARE, tmp_path)
    (kept,) = tmp_path.glob("*.txt")
    kept.write_bytes(content)
    assert peak_flops.best("float32", HARDWARE, tmp_path) == 100.0
    assert kept.read_text() == "100.0\n"


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(KeyError):
        peak_flops.gflops("float64")
