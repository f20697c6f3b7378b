"""gan.needs: the grammar of what a run needs, and who has it."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.gan import needs
from ganboard.gan.config import ConfigError, parse
from ganboard.gan.needs import BadNeed, Offer

BOX: dict[str, Any] = {
    "cores": 16,
    "memory_bytes": 64 * 10**9,
    "gpus": [
        {"name": "NVIDIA A100-SXM4-40GB", "memory_bytes": 40 * 10**9},
        {"name": "NVIDIA A100-SXM4-80GB", "memory_bytes": 80 * 10**9},
    ],
    "tpus": [],
}
OFFER = Offer(("lab3", "fast"), "box1", BOX)


def missing(text: str, offer: Offer) -> list[str]:
    return [str(need) for need in needs.parse(text) if not need.met(offer)]


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("", []),
        (" , ", []),
        ("lab3", []),
        ("lab3, fast,cores>=16", []),
        ("lab4, fast", ["lab4"]),
        ("cores >= 17", ["cores>=17"]),
        ("memory>=64, memory>=64.001", ["memory>=64.001"]),
        ("gpus>=2", []),
        ("gpus>=3, tpu", ["gpus>=3", "tpu"]),
        ("gpu_memory>=40", []),  # of the smallest: TensorFlow may use any
        ("gpu_memory>=41", ["gpu_memory>=41"]),
        ("gpu=a100", []),
        ("gpu=H100", ["gpu=H100"]),
        ("host=box1", []),
        ("host=box", ["host=box"]),
    ],
)
def test_terms(text: str, lacks: list[str]) -> None:
    assert missing(text, OFFER) == lacks


def test_hardware_that_is_not_known_yet_meets_nothing() -> None:
    unknown = Offer(("lab3",), "box1")
    assert missing("lab3, host=box1", unknown) == []
    asked = "cores>=1, memory>=1, gpus>=1, gpu_memory>=1, gpu=A100, tpu"
    assert len(missing(asked, unknown)) == 6


def test_a_gpu_whose_memory_is_not_known_has_none() -> None:
    offer = Offer(devices={"gpus": [{"name": "AMD", "memory_bytes": None}]})
    assert missing("gpus>=1", offer) == []
    assert missing("gpu_memory>=1", offer) != []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cores", "needs a number of cores, such as cores>=8"),
        ("cores=8", "needs a number of cores"),
        ("memory>=much", "needs a number of GB of memory"),
        ("gpus>=٣", "needs a number of GPUs"),
        ("gpu", "needs a name, such as gpu=A100"),
        ("host>=box", "needs a name"),
        ("lab 3", "is no term: use a label"),
        ("lab3>=2", "is no term"),
        ("3lab", "is no term"),
        ("x" * 41, "is no term"),
        (",".join(["a"] * 21), "21 terms, and 20 are the limit"),
    ],
)
def test_what_says_nothing_is_refused_before_a_run_exists(text: str, says: str) -> None:
    with pytest.raises(BadNeed, match=says):
        needs.parse(text)
    for name in ("needs", "prefers"):
        with pytest.raises(ConfigError, match=f"{name} cannot be used: .*{says}"):
            parse({name: text})


def test_labels() -> None:
    assert needs.labels("") == ()
    assert needs.labels("lab3, fast,,lab3") == ("lab3", "fast")
    for bad in ("a b", "gpu", "cores", "tpu", ",".join(f"l{n}" for n in range(21))):
        with pytest.raises(BadNeed):
            needs.labels(bad)
