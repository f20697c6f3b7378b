"""Advice: each sentence only where its number is."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.gan.config import parse
from ganboard.gan.rehearsal.advice import advice


def report(
    random: float = 0.0, norm: int = 0, memory: int = 10, seconds: float = 1.0, padding: float = 0.0
) -> dict[str, Any]:
    parts = [
        {"part": "random numbers", "share": random},
        {"part": "generator/up_1", "share": 1 - random},
    ]
    exchanges = [
        {"part": "exchange of gradients", "count": 1},
        {"part": "generator/norm_1", "count": norm},
    ]
    return {
        "programs": [
            {
                "calls": 2,
                "seconds": 1.0,
                "padding": padding,
                "parts": parts,
                "collectives": exchanges,
            }
        ],
        "collectives": 2 + 2 * norm,
        "memory": {"total": memory},
        "device_memory": 100,
        "step_seconds": seconds,
    }


@pytest.mark.parametrize(
    ("found", "settings", "sentence"),
    [
        (report(random=0.66), {}, "Random numbers take 66 % of the estimated step: rng=hash"),
        (report(norm=3), {"replicas": 2}, "6 of 8 exchanges are batch norm's: sync_batch_norm"),
        (report(memory=95), {}, "The step takes 95 % of the memory: recompute=true, accumulate=2"),
        (report(seconds=4e-4), {"strategy": "tpu"}, "A step takes about 0.4 ms, and the host"),
        (
            report(),
            {"strategy": "tpu", "precision": "mixed_float16"},
            "It compiles, but `ganboard train` refuses mixed_float16 on a TPU",
        ),
        (report(memory=95), {"recompute": True}, "The step takes 95 % of the memory: accumulate=2"),
        (report(memory=95), {"strategy": "tpu"}, "The step takes 95 % of the memory: accumulate=2"),
        (report(padding=0.9), {"strategy": "tpu"}, "90 % of the bytes that it writes pad tiles"),
    ],
)
def test_a_number_leads_to_its_setting(
    found: dict[str, Any], settings: dict[str, Any], sentence: str
) -> None:
    (said,) = advice(found, parse(settings))
    assert said.startswith(sentence)


def test_what_is_set_already_is_not_advised() -> None:
    config = parse({"rng": "hash", "sync_batch_norm": False, "replicas": 2})
    assert not list(advice(report(random=0.66, norm=3), config))
    assert not list(advice(report(), parse({})))
    several = parse({"strategy": "tpu", "steps_per_execution": 2})
    assert not list(advice(report(seconds=4e-4), several))
