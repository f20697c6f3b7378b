"""Weights in fewer bits: what they are stored as, and how far they move."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from ganboard.gan.generation import quantization
from ganboard.gan.generation.quantization import Variant

AXES = {"down/kernel": -1, "up/kernel": -2}
RANDOM = np.random.default_rng(0)
WEIGHTS = {
    "down/kernel": (
        RANDOM.normal(size=(4, 4, 3, 5)).astype(np.float32) * np.float32([1e-3, 1, 10, 0, 5])
    ),
    "up/kernel": RANDOM.normal(size=(4, 4, 5, 3)).astype(np.float32),
    "norm/gamma": RANDOM.normal(size=5).astype(np.float32),
}


def test_int8_moves_no_weight_by_more_than_half_a_step_of_its_channel() -> None:
    stored = quantization.pack(WEIGHTS, AXES, "int8")
    assert {name: array.dtype.name for name, array in stored.items()} == {
        "down/kernel": "int8", "down/kernel/scale": "float32", "up/kernel": "int8",
        "up/kernel/scale": "float32", "norm/gamma": "float32",
    }  # fmt: skip
    assert stored["down/kernel/scale"].shape == (1, 1, 1, 5)
    assert stored["up/kernel/scale"].shape == (1, 1, 5, 1)
    back = quantization.unpack(stored)
    for name in AXES:
        scale = stored[name + "/scale"]
        assert (np.abs(back[name] - WEIGHTS[name]) <= scale * (0.5 + 1e-5)).all()
        assert (np.abs(stored[name]).max((0, 1)) <= 127).all()
    assert not back["down/kernel"][..., 3].any()  # a channel without weights


def test_quantizing_what_was_quantized_changes_nothing() -> None:
    once = quantization.unpack(quantization.pack(WEIGHTS, AXES, "int8"))
    twice = quantization.pack(once, AXES, "int8")
    for name, array in quantization.pack(WEIGHTS, AXES, "int8").items():
        if array.dtype == np.int8:
            np.testing.assert_array_equal(twice[name], array)


def test_float16_halves_kernels_and_shows_what_overflows() -> None:
    stored = quantization.pack(
        {**WEIGHTS, "down/kernel": WEIGHTS["down/kernel"] * 1e5}, AXES, "float16"
    )
    assert stored["down/kernel"].nbytes * 2 == WEIGHTS["down/kernel"].nbytes
    assert np.isinf(quantization.unpack(stored)["down/kernel"]).any()
    np.testing.assert_allclose(
        quantization.unpack(stored)["up/kernel"], WEIGHTS["up/kernel"], rtol=2**-11, atol=1e-7
    )


@pytest.mark.parametrize("variant", get_args(Variant))
def test_names_shapes_and_what_is_no_kernel_stay(variant: Variant) -> None:
    back = quantization.unpack(quantization.pack(WEIGHTS, AXES, variant))
    assert {name: (array.shape, array.dtype.name) for name, array in back.items()} == {
        name: (array.shape, "float32") for name, array in WEIGHTS.items()
    }
    np.testing.assert_array_equal(back["norm/gamma"], WEIGHTS["norm/gamma"])
