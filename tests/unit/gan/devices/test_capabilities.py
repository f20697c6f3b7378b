from __future__ import annotations

from typing import Any

import pytest

from ganboard.gan.devices.capabilities import check, faster, remarks
from ganboard.gan.models.dcgan.config import Config

CPU: dict[str, Any] = {"gpus": [], "tpus": []}
GPUS: dict[str, Any] = {"gpus": [{"name": "a"}, {"name": "b"}], "tpus": []}


@pytest.mark.parametrize(
    ("changes", "devices", "words"),
    [
        ({"precision": "mixed_float16"}, CPU, ("mixed_float16", "GPU", "mixed_bfloat16")),
        ({"strategy": "tpu"}, CPU, ("strategy=tpu", "no TPU", "mirrored")),
        (
            {"strategy": "tpu", "replicas": 8},
            {**CPU, "tpus": ["core"]},
            ("replicas=8", "1 TPU core", "mirrored"),
        ),
        (
            {"strategy": "tpu", "loop": "fit"},
            {**CPU, "tpus": ["core"]},
            ("loop=fit", "not available", "custom"),
        ),
        (
            {"strategy": "multi_worker", "replicas": 1000, "batch_size": 1000},
            {**CPU, "cores": 2, "memory_bytes": 24 * 10**9},
            ("replicas=1000", "8", "mirrored"),
        ),
        (
            {"batch_size": 65_536, "strategy": "default"},
            {**CPU, "memory_bytes": 4 * 10**9},
            ("batch_size=65536", "4.0 GB", "lower batch_size to", "accumulate"),
        ),
        ({"replicas": 128, "batch_size": 128}, CPU, ("replicas=128", "64")),
    ],
)
def test_what_cannot_run_gets_one_sentence_with_a_remedy(
    changes: dict[str, Any], devices: dict[str, Any], words: tuple[str, ...]
) -> None:
    sentence = check(Config(**changes), devices)
    assert sentence is not None
    assert all(word in sentence for word in words)
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("changes", "devices"),
    [
        ({}, CPU),
        ({"precision": "mixed_bfloat16", "xla": True}, CPU),
        ({"replicas": 4}, CPU),
        ({"loop": "fit", "replicas": 2}, CPU),
        (
            {"strategy": "multi_worker", "replicas": 2},
            {**CPU, "cores": 2, "memory_bytes": 24 * 10**9},
        ),
        ({"replicas": 2, "precision": "mixed_float16"}, GPUS),
    ],
)
def test_what_can_run_passes(changes: dict[str, Any], devices: dict[str, Any]) -> None:
    assert check(Config(**changes), devices) is None


def test_remarks_name_what_changes_the_meaning_of_results() -> None:
    assert remarks(Config(), CPU) == []
    assert "share one CPU" in remarks(Config(replicas=2), CPU)[0]
    assert "per-replica statistics" in remarks(Config(replicas=2, xla=True), GPUS)[0]
    assert "a lower speed than without XLA" in remarks(Config(xla=True), CPU)[0]
    assert remarks(Config(precision="mixed_bfloat16"), {**CPU, "cpu_flags": ["amx_bf16"]}) == []
    assert (
        "no bfloat16 instructions"
        in remarks(Config(precision="mixed_bfloat16"), {**CPU, "cpu_flags": ["avx2"]})[0]
    )


HALF = Config(precision="mixed_bfloat16")
SLOW = {"cpu_rates": {"float32": 130.0, "mixed_bfloat16": 85.0}}


@pytest.mark.parametrize(
    ("devices", "slow"),
    [
        ({"cpu_flags": ["avx2"]}, True),  # emulated
        ({"cpu_flags": ["avx512_bf16"]}, False),
        ({"cpu_flags": ["avx512_bf16", "avx512_fp16"]}, True),  # AMX is hidden
        ({"cpu_flags": ["avx512_bf16", "avx512_fp16", "amx_bf16"]}, False),
        # what was measured counts
        ({"cpu_flags": ["avx512_bf16"], **SLOW}, True),
        ({"cpu_flags": [], "cpu_rates": {"float32": 70.0, "mixed_bfloat16": 140.0}}, False),
        ({"cpu_flags": ["avx2"], "gpus": [{"name": "a"}]}, False),
        ({}, False),
    ],
)
def test_float32_is_faster_where_a_processor_multiplies_bfloat16_slower(
    devices: dict[str, Any], slow: bool
) -> None:
    assert faster(HALF, devices) == ({"precision": "float32"} if slow else {})
    assert bool(remarks(HALF, CPU | devices)) is slow
    assert faster(Config(), devices) == {}


def test_the_remark_says_from_what_it_is_known() -> None:
    assert "at 0.65 times its float32 rate (measured)" in remarks(HALF, CPU | SLOW)[0]
    hidden = {"cpu_flags": ["avx512_bf16", "avx512_fp16"]}
    assert "no AMX" in remarks(HALF, CPU | hidden)[0]
