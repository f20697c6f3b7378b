"""What is read off optimised programs. The two here came from the compilers (libtpu 0.0.42.1, XLA
of jaxlib 0.10.2): a convolution and a product, gradients summed over four replicas, an update."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from ganboard.gan.rehearsal import hlo

LAYERS = {"generator": ["up_1", "dense"]}
GRADIENTS = 4 * (3 * 3 * 4 * 8 + 512 * 16)  # bytes


def program(name: str) -> str:
    return gzip.decompress(Path(__file__).with_name(f"{name}.hlo.gz").read_bytes()).decode()


@pytest.mark.parametrize("name", ["v5e-4", "4xh100"])
def test_the_exchange_of_gradients_is_one_collective_with_its_bytes(name: str) -> None:
    found = hlo.analyse(program(name), LAYERS)
    assert found["collectives"] == [
        {"kind": "all-reduce", "part": "exchange of gradients", "count": 1, "bytes": GRADIENTS}
    ]


def test_cycles_of_a_tpu_are_those_of_its_layers() -> None:
    text = program("v5e-4")
    found = hlo.analyse(text, LAYERS)
    assert found["cycles"] == sum(part["cycles"] for part in found["parts"]) == 27_461
    assert sum(part["share"] for part in found["parts"]) == pytest.approx(1)
    named = {(part["part"], part["backward"]) for part in found["parts"]}
    assert named == {
        ("random numbers", False),
        ("generator/up_1", False),
        ("generator/up_1", True),
        ("generator/dense", False),
        ("generator/dense", True),
        ("update", False),
    }


def test_products_of_a_gpu_are_counted() -> None:
    macs = Counter[str]()
    for one in hlo.instructions(program("4xh100"), LAYERS):
        macs[one.part] += int(one.macs)
    # 8 x 8 x 8 places, 3 x 3 x 4 taps, 8 channels, forward and of the kernel
    assert macs["generator/up_1"] == 2 * 512 * 36 * 8
    # forward, of the input and of the weights; the compiler rounds the batch of 8 up to none
    assert macs["generator/dense"] == 3 * 8 * 512 * 16


def test_a_roofline_is_bounded_by_what_takes_longest() -> None:
    text = program("4xh100")
    kernels = [
        one
        for one in hlo.instructions(text, LAYERS)
        if not one.collective and not one.opcode.endswith("-done")
    ]
    quick = hlo.roofline(text, LAYERS, 1e30, 1e30)
    assert quick["seconds"] == pytest.approx(len(kernels) * hlo.KERNEL_SECONDS)
    assert list(quick["limits"]) == ["launches"]
    slow = hlo.roofline(text, LAYERS, 1e30, 1.0)
    assert slow["seconds"] == pytest.approx(sum(one.bytes for one in kernels))
    assert sum(part["share"] for part in slow["parts"]) == pytest.approx(1)


LOOP = """HloModule m

%below.1 (p.1: (s32[], f32[8])) -> pred[] {
  %p.1 = (s32[]{:T(128)}, f32[8]{0}) parameter(0)
  %i.1 = s32[]{:T(128)} get-tuple-element(%p.1), index=0
  %n.1 = s32[]{:T(128)} constant(7)
  ROOT %compare.1 = pred[]{:T(512)} compare(%i.1, %n.1), direction=LT
}

%body.1 (p.2: f32[8]) -> f32[8] {
  %p.2 = f32[8]{0} parameter(0)
  ROOT %add.1 = f32[8]{0} add(%p.2, %p.2), metadata={op_name="update/add"}, backend_config={"window_config":{"estimated_cycles":"5"}}
}

ENTRY %main.2 (a.1: f32[8]) -> f32[8] {
  %a.1 = f32[8]{0} parameter(0)
  ROOT %while.1 = f32[8]{0} while(%a.1), condition=%CONDITION, body=%body.1NOTED
}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("condition", "noted"),
    [("c", ', backend_config={"known_trip_count":{"n":"7"}}'), ("below.1", "")],
    ids=["noted", "read from the condition"],
)
def test_a_loop_counts_as_often_as_it_runs(condition: str, noted: str) -> None:
    found = hlo.analyse(LOOP.replace("CONDITION", condition).replace("NOTED", noted), {})
    assert (found["cycles"], found["kernels"]) == (35, 7)
    assert found["parts"][0]["part"] == "update"


def test_padding_is_what_tiles_hold_beyond_their_arrays() -> None:
    text = """HloModule m

ENTRY %main.2 (a.1: f32[32,14,14,64]) -> f32[32,14,14,64] {
  %a.1 = f32[32,14,14,64]{0,3,2,1:T(8,128)} parameter(0)
  %copy.1 = f32[32,14,14,64]{3,0,2,1:T(8,128)S(1)} copy(%a.1), backend_config={"window_config":{"estimated_cycles":"30"}}
  ROOT %add.1 = bf16[32,14,14,64]{0,3,2,1:T(8,128)(2,1)} add(%copy.1, %copy.1), backend_config={"window_config":{"estimated_cycles":"5"}}
}
"""  # noqa: E501
    found = hlo.analyse(text, {})
    # 64 channels on 128 lanes twice as much, 32 images four times
    written = 14 * 14 * 32 * 64 * (4 + 2)
    assert found["padding"] == pytest.approx(1 - written / (14 * 14 * 32 * 64 * (4 * 2 + 2 * 4)))
    assert found["copy_cycles"] == 30


def test_a_gpu_has_no_tiles() -> None:
    assert hlo.analyse(program("4xh100"), LAYERS)["padding"] == 0


def test_what_leaves_the_device_is_listed() -> None:
    text = """HloModule m

ENTRY %main.2 (a.1: f32[8]) -> f32[8] {
  %a.1 = f32[8]{0} parameter(0)
  %out.1 = token[] outfeed(%a.1), metadata={op_name="print"}
  ROOT %b.1 = f32[8]{0} custom-call(%a.1), custom_call_target="xla_python_gpu_callback"
}
"""
    assert hlo.analyse(text, {})["host"] == ["custom-call", "outfeed"]
