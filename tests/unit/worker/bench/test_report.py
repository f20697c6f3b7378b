"""Ratios, goals and the document, from made-up figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from ganboard.worker.bench.candidates import CANDIDATES
from ganboard.worker.bench.report import GOALS, Result, best, document, ratio, spread

DCGAN = {"model": "dcgan", "gflop_per_image": 0.1}
BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}


def result(name: str, rates: list[float], precision: str = "float32", **more: Any) -> Result:
    return Result(replace(BY_NAME[name], precision=precision), dict(enumerate(rates, 1)), **more)


def reached(found: dict[str, Any], beginning: str) -> tuple[float | None, bool | None]:
    (goal,) = [goal for goal in found["goals"] if goal["goal"].startswith(beginning)]
    return goal["reached"], goal["met"]


def test_a_ratio_is_taken_within_each_round() -> None:
    # the machine halves its speed from round to round: medians over all rounds would say 1.0
    assert ratio({1: 440, 2: 220, 3: 110}, {1: 400, 2: 200, 3: 100}) == pytest.approx(1.1)
    assert ratio({1: 100.0, 3: 90.0}, {2: 50.0, 3: 60.0}) == 1.5
    assert ratio({1: 100.0}, {2: 100.0}) is None


def test_a_spread_keeps_the_order_of_the_rounds() -> None:
    assert spread({2: 30.0, 1: 10.0, 3: 20.0}) == {
        "median": 20.0,
        "min": 10.0,
        "max": 30.0,
        "rounds": [10.0, 30.0, 20.0],
    }
    assert spread({}) is None


def test_the_best_of_a_family_counts_in_any_precision() -> None:
    slow, fast = (
        result("pytorch-eager", [300, 310]),
        result("pytorch-channels-last", [500, 520], "mixed_bfloat16"),
    )
    assert best([slow, fast, result("bare", [900])], "pytorch") is fast
    assert best([result("pytorch-compiled", [])], "pytorch") is None


def test_goals_compare_what_they_name() -> None:
    results = [
        result("bare", [550, 500]),
        result("platform", [490, 480], partner={1: 500, 2: 500}),
        result("replicas", [495, 480]),
        result("start", [], seconds={1: 5.0, 2: 6.5}),
        result("tutorial", [500, 400]),
        result("pytorch-channels-last", [520, 530], "mixed_bfloat16"),
        result("tutorial", [700, 700], "mixed_bfloat16"),
        result("bare", [780, 742], "mixed_bfloat16"),
    ]
    found = document(results, DCGAN)
    assert reached(found, "float32") == (pytest.approx(1.175), False)  # 1.1 and 1.25
    # the tutorial in float32
    assert reached(found, "bfloat16 >= 2.80") == (pytest.approx((1.56 + 1.855) / 2), False)
    assert reached(found, "bfloat16 >= 1.40") == (pytest.approx(1.45), True)
    # its own partner, not the short turns
    assert reached(found, "through queue") == (pytest.approx(0.97), False)
    assert reached(found, "2 replicas") == (pytest.approx(0.93), False)
    assert reached(found, "2 worker") == (None, None)
    assert reached(found, "process start") == (5.75, False)


def test_the_document_has_one_form_whatever_was_measured() -> None:
    results = [
        result("bare", [550.0], memory_bytes=10**9, version="tensorflow 2"),
        result("jax", [], problem="not installed: pip install jax"),
    ]
    found = orjson.loads(orjson.dumps(document(results, {**DCGAN, "batch": 256})))
    assert found["batch"] == 256
    bare, jax = found["candidates"]
    assert bare.keys() == jax.keys()
    assert bare["images_per_second"] == {
        "median": 550.0,
        "min": 550.0,
        "max": 550.0,
        "rounds": [550.0],
    }
    assert bare["ratios"] == {"bare": 1.0, "tutorial": None, "pytorch": None, "floor": None}
    assert bare["gflops"] == pytest.approx(55)
    assert jax["images_per_second"] is None
    assert jax["problem"] == "not installed: pip install jax"
    assert len(found["goals"]) == len(GOALS) + 1
    assert {goal["met"] for goal in found["goals"]} == {None}


def test_another_model_has_no_goals_and_is_measured_beside_our_trainer_alone() -> None:
    results = [result("bare", [20.0, 10.0]), result("recompute", [15.0, 7.0])]
    found = document(results, {"model": "gan3d", "gflop_per_image": 2.0})
    assert found["goals"] == []
    assert [one["gflops"] for one in found["candidates"]] == [30.0, 22.0]
    assert found["candidates"][1]["ratios"]["bare"] == pytest.approx(0.725)
