"""Reports of a rehearsal: their keys, their memory and their times."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.gan.config import parse
from ganboard.gan.rehearsal import report
from ganboard.gan.rehearsal.targets import parse_targets
from tests.unit.gan.rehearsal.test_hlo import GRADIENTS, LAYERS, program

RESULT = {
    "name": "update of D and G",
    "calls": 2,
    "arguments": 3_000,
    "temporaries": 500,
    "outputs": 10,
    "code": 70,
    "compile_seconds": 1.5,
}


@pytest.mark.parametrize("same", [{"seed": 3}, {"epochs": 2}, {"g_learning_rate": 0.01}])
def test_what_does_not_shape_the_step_does_not_change_the_key(same: dict[str, Any]) -> None:
    assert report.key(parse(same)) == report.key(parse({}))


@pytest.mark.parametrize(
    "other", [{"batch_size": 128}, {"precision": "mixed_bfloat16"}, {"latent_dim": 7}, {"ema": 0.9}]
)
def test_what_shapes_the_step_changes_the_key(other: dict[str, Any]) -> None:
    assert report.key(parse(other)) != report.key(parse({}))


def test_the_same_run_on_other_targets_has_one_key() -> None:
    config = parse({"batch_size": 64})
    keys = {report.key(one.adapted(config)) for one in parse_targets("v3-8,h100,4xh100")}
    assert keys == {report.key(config)}


def test_a_tpu_takes_its_cycles_and_its_exchange() -> None:
    (target,) = parse_targets("v5e-4")
    config = target.adapted(parse({"batch_size": 64}))
    found = report.assemble(target, config, "step", [RESULT], [program("v5e-4")], LAYERS)
    assert found["computing_seconds"] == pytest.approx(2 * 27_461 / 1.5e9)
    sent = 2 * 3 / 4 * 2 * GRADIENTS
    assert found["exchange_seconds"] == pytest.approx(2 * report.EXCHANGE_SECONDS + sent / 200e9)
    assert found["step_seconds"] == found["computing_seconds"] + found["exchange_seconds"]
    assert found["exchanged_bytes"] == 2 * GRADIENTS
    assert "not calibrated" in found["basis"]


def test_a_gpu_takes_its_roofline() -> None:
    (target,) = parse_targets("h100")
    config = target.adapted(parse({"batch_size": 64}))
    found = report.assemble(target, config, "step", [RESULT], [program("4xh100")], LAYERS)
    assert found["computing_seconds"] == pytest.approx(2 * found["programs"][0]["seconds"])
    assert found["programs"][0]["limits"]


def test_memory_is_that_of_the_largest_program_and_the_code_of_all() -> None:
    other = {**RESULT, "temporaries": 900, "code": 30}
    assert report.memory([RESULT, other]) == {
        "arguments": 3_000,
        "temporaries": 900,
        "outputs": 10,
        "code": 100,
        "total": 4_010,
    }


def test_a_refusal_has_its_reason_and_no_numbers() -> None:
    (target,) = parse_targets("v5e-1")
    found = report.refused(target, target.adapted(parse({})), "step", "the reason")
    assert (found["compiles"], found["reason"]) == (False, "the reason")
    assert "memory" not in found
