"""Both ways to take the steps of an epoch: what is compiled before the first, and what their times
are."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.devices import runtime
from ganboard.gan.events import EpochDone, Losses
from ganboard.gan.presets import load
from ganboard.gan.rng import philox
from ganboard.gan.training import fit, runner
from ganboard.gan.training.runner import Report
from ganboard.gan.training.step import Stepper, networks
from tests.recorder import After, run

IMAGES = (np.random.default_rng(0).random((20, 28, 28, 1)) * 255).astype(np.uint8)
CONFIG: RunConfig = parse({"dataset": "digits", "batch_size": 4, "latent_dim": 8})
ORDER = philox.order(CONFIG.seed, 1, len(IMAGES))


def make(loop: str) -> tuple[Stepper, runner.Runner]:
    stepper = Stepper(CONFIG, tf.distribute.get_strategy(), networks(CONFIG), IMAGES)
    made = fit.FitLoop(stepper, int) if loop == "fit" else runner.CustomLoop(stepper, int)
    return stepper, made


def rates(steps: int) -> Losses:
    return np.full([steps, 2], 1e-4, np.float32)


@pytest.mark.thorough
@pytest.mark.parametrize("loop", ["xla", "fit"])
def test_after_warming_up_no_call_compiles(monkeypatch: pytest.MonkeyPatch, loop: str) -> None:
    monkeypatch.setattr(runtime, "compiled", lambda config: loop == "xla")
    stepper, made = make(loop)
    before = stepper.nets.arrays()
    began = time.monotonic()
    made.warm_up(ORDER)
    warm_up = time.monotonic() - began
    for name, value in stepper.nets.arrays().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)

    # an epoch of one call: nothing later to compare it with
    reports: list[Report] = [*made.epoch(ORDER, 0, 0, rates(1))]
    # in calls of 2 and more steps, and a shorter last one
    reports += made.epoch(ORDER, 0, 1, rates(5))
    assert sum(len(report.metrics) for report in reports) == 6
    assert all(0 < report.seconds < warm_up / 2 for report in reports)


@pytest.mark.thorough
def test_attempts_of_one_call_count_no_compiling_as_training(tmp_path: Path) -> None:
    config = load("tiny", {"loop": "fit", "limit": 64, "epochs": 1})
    first, outcome = run(config, tmp_path, control=After(1))
    assert (outcome, first.of(EpochDone)) == ("stopped", [])
    second, outcome = run(config, tmp_path, attempt=2)
    assert outcome == "finished"
    (done,) = second.of(EpochDone)
    assert 0 < done.seconds < done.compile_seconds / 2
    assert done.measures["host_seconds"] >= 0
