from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ganboard.worker.context import Context
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.firstday import numerics
from ganboard.worker.process.json_child import Ended, TimeLimit
from tests.unit.worker.firstday.days import CPU, STEP, T4, V5E, Steps, make_day


def test_products_off_the_accelerator_are_a_failure(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    steps.answers["float32"] = {"off_accelerator": ["GatherV2 x2 on CPU:0"]}
    found = numerics.placement(make_day(context, tmp_path, T4))
    assert (found.status, found.rows) == ("ok", [("GatherV2 x2", "CPU:0")])
    steps.answers["float32"] = {"off_accelerator": ["Conv2D x4 on CPU:0"]}
    found = numerics.placement(make_day(context, tmp_path, T4))
    assert found.status == "fail"
    assert "Conv2D x4" in found.text


def test_without_an_accelerator_nothing_is_off_it(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    steps.answers["float32"] = {"off_accelerator": None}
    assert "no accelerator" in numerics.placement(make_day(context, tmp_path, CPU)).text


def test_precisions_are_those_that_the_device_can(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    assert len(make_day(context, tmp_path, CPU).precisions()) == 2
    assert len(make_day(context, tmp_path, T4).precisions()) == 3
    assert make_day(context, tmp_path, V5E).precisions() == ["float32", "mixed_bfloat16"]


def test_deviations_are_told_from_float32(context: Context, tmp_path: Path, steps: Steps) -> None:
    off = [[loss * 1.1 for loss in pair] for pair in STEP["losses"]]
    steps.answers["mixed_bfloat16"] = {"losses": off}
    found = numerics.precision(make_day(context, tmp_path, CPU))
    assert found.status == "ok"
    assert [row[0] for row in found.rows] == ["float32", "mixed_bfloat16"]
    assert [row[-1] for row in found.rows] == ["-", "0.1"]


def test_a_loss_that_is_not_finite_fails_and_the_rest_stays(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    steps.answers["mixed_bfloat16"] = {"losses": [[math.nan, 1.0]]}
    steps.answers["mixed_float16"] = ServiceFailed("no such kernel")
    found = numerics.precision(make_day(context, tmp_path, T4))
    assert found.status == "fail"
    assert "mixed_bfloat16: a loss is not finite" in found.text
    assert "mixed_float16: no such kernel" in found.text
    assert len(found.rows) == 3


def test_what_the_time_does_not_suffice_for_is_listed(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    steps.answers["mixed_float16"] = TimeLimit("it did not end within 9 s")
    found = numerics.precision(make_day(context, tmp_path, T4))
    assert (found.status, found.not_done) == ("ok", ["mixed_float16"])


def test_one_device_compares_two_replicas_on_the_cpu(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    found = numerics.replicas(make_day(context, tmp_path, T4))
    assert found.status == "ok", found.text
    assert "on the CPU" in found.text
    assert steps.environments == [{"CUDA_VISIBLE_DEVICES": "-1"}] * 2
    assert [job["config"]["replicas"] for job in steps.jobs] == [1, 2]


def test_a_tpu_compares_one_chip_with_all(context: Context, tmp_path: Path, steps: Steps) -> None:
    found = numerics.replicas(make_day(context, tmp_path, V5E))
    assert found.status == "ok", found.text
    assert [job["config"]["replicas"] for job in steps.jobs] == [1, 8]
    assert {job["config"]["strategy"] for job in steps.jobs} == {"tpu"}
    assert steps.environments[0]["TPU_VISIBLE_CHIPS"] == "0"
    assert steps.environments[1] == {}


def test_a_wrong_factor_between_replicas_is_seen(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    for hardware in (CPU, V5E):
        steps.moved = 5e5  # a replica more moves the weights by as much as the steps do
        found = numerics.replicas(make_day(context, tmp_path, hardware))
        assert found.status == "fail"
        assert "differ" in found.text


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The variants of the trainings that were run."""
    ran: list[str] = []

    def train(arguments: list[str], seconds: float, **_: object) -> Ended:
        ran.append(arguments[-2])
        return Ended(-9 if arguments[-2] == "killed" else 0, "", "")

    monkeypatch.setattr(numerics, "run", train)
    return ran


def _states(monkeypatch: pytest.MonkeyPatch, apart: float) -> None:
    def state(folder: Path) -> dict[str, np.ndarray]:
        value = apart if folder.name == "killed" else 0.0
        return {f"{net}/w": np.full(2, value) for net in ("generator", "discriminator")}

    monkeypatch.setattr(numerics.equivalence, "state", state)


@pytest.mark.parametrize(
    ("hardware", "apart", "status", "said"),
    [
        (CPU, 0.0, "ok", "Identical bits; on this device the result is promised to the bit"),
        (CPU, 1e-9, "fail", "differ by at most 1.0e-09"),
        (T4, 1e-9, "ok", "promised to rounding"),
        (T4, 1e-3, "fail", "differ by at most 1.0e-03"),
    ],
)
def test_a_resumed_training_is_held_to_its_promise(
    context: Context,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trainings: list[str],
    hardware: dict[str, object],
    apart: float,
    status: str,
    said: str,
) -> None:
    _states(monkeypatch, apart)
    found = numerics.resume(make_day(context, tmp_path, hardware))
    assert trainings == ["", "killed", ""]
    assert found.status == status
    assert said in found.text


def test_a_training_that_ends_before_the_kill_proves_nothing(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numerics, "run", lambda *_, **__: Ended(0, "", ""))
    with pytest.raises(ServiceFailed, match="ended before it could be killed"):
        numerics.resume(make_day(context, tmp_path, CPU))
