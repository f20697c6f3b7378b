"""Lowering: the programs of every model's step, and that collectives are XLA's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from ganboard.gan.config import parse
from ganboard.gan.devices import runtime
from ganboard.gan.rehearsal import lowering, lowering_process

SHOWERS = {"model": "gan3d", "dataset": "showers", "batch_size": 4}
FLOW = {"model": "pix2pix", "dataset": "vortex_street", "geometry": "64x64", "batch_size": 4}


def lowered(kind: Any, form: Any, **settings: Any) -> list[lowering.Program]:
    return list(lowering.lower(parse(settings), kind, form))


def all_reduces(hlo: bytes) -> int:
    """Exchanges in a serialised program, each named once in its list of instructions."""
    return len({part for part in hlo.split(b"\n") if b"all-reduce" in part})


@pytest.mark.thorough
def test_phases_that_differ_in_what_they_draw_alone_are_one_program() -> None:
    programs = lowered("tpu", "step", **SHOWERS)
    assert [(one.name, one.calls) for one in programs] == [
        ("update of D (real)", 1),
        ("update of D (fake)", 1),
        ("update of G", 2),
    ]


def test_accumulation_has_a_program_of_its_own() -> None:
    programs = lowered("tpu", "step", batch_size=8, accumulate=4, d_steps=3)
    assert [(one.name, one.calls) for one in programs] == [
        ("micro-batch of D", 6),
        ("update of D", 2),
        ("micro-batch of D and G", 3),
        ("update of D and G", 1),
    ]


def test_several_steps_are_one_program_of_a_tpu_alone() -> None:
    several = {"batch_size": 8, "steps_per_execution": 4}
    (together,) = lowered("tpu", "step", strategy="tpu", **several)
    assert (together.name, together.calls) == ("4 steps", 1 / 4)
    assert b"while" in together.hlo
    (alone,) = lowered("gpu", "step", **several)
    assert (alone.name, alone.calls) == ("update of D and G", 1)


def test_a_gpu_can_compile_the_gradients_alone() -> None:
    (program,) = lowered("gpu", "gradients", batch_size=8, xla=True)
    assert (program.name, program.calls) == ("gradients of D and G", 1)


def test_replicas_exchange_by_collectives_of_xla() -> None:
    (alone,) = lowered("tpu", "step", batch_size=8, strategy="tpu", replicas=1)
    (several,) = lowered("tpu", "step", batch_size=8, strategy="tpu", replicas=8)
    assert not all_reduces(alone.hlo)
    assert all_reduces(several.hlo)


def test_operations_are_named_after_network_and_layer() -> None:
    (program,) = lowered("tpu", "step", batch_size=8)
    for name in (b"generator/up_1", b"gradient_tape/discriminator/down_1", b"draws/", b"update/"):
        assert name in program.hlo


def test_layers_are_those_of_both_networks() -> None:
    found = lowering.layers(parse(FLOW), "tpu")
    assert {"generator", "discriminator"} == set(found)
    assert all(found.values())


def test_afterwards_this_process_is_as_before() -> None:
    before = runtime.accelerated(), runtime.on_gpu()
    with runtime.as_if_on("gpu"):
        assert (runtime.accelerated(), runtime.on_gpu()) == (True, True)
        assert runtime.compiled(parse({"xla": True}))
    with runtime.as_if_on("tpu"):
        assert (runtime.accelerated(), runtime.on_gpu()) == (True, False)
    assert (runtime.accelerated(), runtime.on_gpu()) == before


@pytest.fixture
def strings_in_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with an operation that no compiler takes."""

    def update(_replica: Any, _phase: int, _rows: Any, step: tf.Tensor, *_: Any) -> tf.Tensor:
        return tf.strings.length(tf.strings.as_string(step))

    monkeypatch.setattr("ganboard.gan.training.replica.Replica.update", update)


@pytest.mark.usefixtures("strings_in_the_step")
def test_what_no_compiler_takes_is_named(tmp_path: Path) -> None:
    asked = {"config": {"batch_size": 8}, "kind": "tpu", "form": "step", "folder": str(tmp_path)}
    reason = lowering_process.answer(asked)["reason"]
    assert reason.startswith("TensorFlow cannot lower the step: ")
    assert "AsString" in reason
    assert "\n" not in reason


def test_an_invalid_configuration_is_answered_in_its_sentence(tmp_path: Path) -> None:
    asked = {"config": {"batch_size": 0}, "kind": "tpu", "form": "step", "folder": str(tmp_path)}
    assert lowering_process.answer(asked)["reason"].startswith("batch_size=0 is not allowed")
