"""The memory of a training beside what was measured, and the largest batch that fits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ganboard.gan import presets
from ganboard.gan.costs import estimate, measured
from ganboard.gan.costs.layer import parameters
from ganboard.gan.models.dcgan.config import Config
from tests.unit.gan.costs.configs import config

CPU: dict[str, Any] = {"gpus": [], "tpus": [], "memory_bytes": 4 * 10**9}
GPUS: dict[str, Any] = {
    "gpus": [{"name": "a", "memory_bytes": 8 * 10**9}] * 2,
    "tpus": [],
    "memory_bytes": 4 * 10**9,
}


MEASURED = [  # highest resident memory of trainings on CPU, in MB
    ({"batch_size": 32}, 1047),
    ({"batch_size": 512}, 1726),
    ({"batch_size": 2048}, 3804),
    ({"batch_size": 32, "precision": "mixed_bfloat16"}, 1028),
    ({"batch_size": 512, "precision": "mixed_bfloat16"}, 1417),
    ({"batch_size": 2048, "precision": "mixed_bfloat16"}, 2423),
    ({"batch_size": 1024, "xla": True}, 2583),
    ({"batch_size": 1024, "recompute": True}, 1923),
    ({"batch_size": 1024, "loss": "wgan_gp"}, 2854),
    ({"batch_size": 1024, "r1": 10}, 2336),
    ({"batch_size": 1024, "convolution": "direct"}, 1788),
    ({"batch_size": 1024, "table1_literal": True}, 2478),
    ({"batch_size": 1024, "replicas": 4}, 2178),
    ({"batch_size": 2048, "accumulate": 8}, 1451),
    ({"batch_size": 64, "quality_every": 1, "quality_images": 20_000}, 1444),
]


@pytest.mark.parametrize(("changes", "megabytes"), MEASURED)
def test_the_estimate_is_near_what_was_measured(changes: dict[str, Any], megabytes: int) -> None:
    assert estimate.estimate(config(limit=8192, **changes)) == pytest.approx(
        megabytes * 1e6, rel=0.15
    )


# by tests.scale.memory: one epoch of a preset with its evaluation, for so many examples
OF_PRESETS = [
    ("digits", 1797, 1319),
    ("paper", 60_000, 1138),
    ("tiny", 1797, 1118),
    ("showers", 8000, 1306),
    ("showers_tiny", None, 1129),
    ("vortex_street", None, 1244),
    ("vortex_street_256", None, 3324),
    ("vortex_street_tiny", None, 2791),
    # whose networks another process must build first
    pytest.param("mnist", 60_000, 1055, marks=pytest.mark.thorough),
    pytest.param("starter", 1797, 1077, marks=pytest.mark.thorough),
    pytest.param("pictures", 4000, 1383, marks=pytest.mark.thorough),
]


@pytest.mark.parametrize(("preset", "examples", "megabytes"), OF_PRESETS)
def test_the_estimate_of_a_preset_is_near_what_was_measured(
    preset: str, examples: int | None, megabytes: int
) -> None:
    asked = presets.load(preset)
    if not estimate.known(asked):
        measured.layers(asked, wait=True)
    assert estimate.estimate(asked, examples) == pytest.approx(megabytes * 1e6, rel=0.15)


TRAIN = """
import pathlib, sys, tempfile
from ganboard.gan.training import loop
from ganboard.gan.config import parse_assignments, parse

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder)
    loop.train(parse(parse_assignments(sys.argv[1:])), run_dir=path, data_dir=path, attempt=1,
               sink=lambda event: None, control=lambda: "stop")
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
"""


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the kernel does not report the highest memory"
)
@pytest.mark.parametrize("batch", [pytest.param(32, marks=pytest.mark.thorough), 1024])
def test_the_estimate_is_near_what_a_training_takes_here(batch: int) -> None:
    settings = ["dataset=digits", f"batch_size={batch}"]
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, *settings],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        cwd=Path(__file__).parents[4],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert estimate.estimate(config(dataset="digits", batch_size=batch)) == pytest.approx(
        1024 * int(done.stdout), rel=0.25
    )


def test_memory_follows_what_costs_it() -> None:
    def of(**changes: Any) -> int:
        return estimate.estimate(config(batch_size=1024, **changes))

    plain = of()
    assert of(accumulate=16) < of(recompute=True) < plain <= of(r1=1.0) < of(loss="wgan_gp")
    assert of(precision="mixed_bfloat16") < plain < of(xla=True)
    assert of(optimizer="sgd", beta_1=0) < of(optimizer="sgd") < plain < of(ema=0.9)
    assert (
        of(limit=1024)
        < of(limit=30_000)
        < plain
        < estimate.estimate(config(batch_size=1024, dataset="images", images_path="a"), 10**6)
    )
    # the evaluator reads all images, and the batch takes more than the evaluation
    assert of(limit=1024, quality_every=1) == plain
    assert plain < of(replicas=4) < 2 * plain
    assert (
        of(strategy="multi_worker", replicas=4)
        < plain
        < 4 * of(strategy="multi_worker", replicas=4)
    )


def test_on_gpus_each_holds_one_replica_and_nothing_of_the_host() -> None:
    one, four = (
        estimate.estimate(config(batch_size=256 * n, replicas=n), on_gpu=True) for n in (1, 4)
    )
    assert one == four < estimate.estimate(config(batch_size=256))
    weights = parameters(estimate.generator(config())) + parameters(
        estimate.discriminator(config())
    )
    assert one == 4 * 4 * weights + 256 * estimate.image_bytes(config(), on_gpu=True)
    # no spectral form there
    assert estimate.image_bytes(config(), on_gpu=True) < estimate.image_bytes(config())


@pytest.mark.parametrize(
    "changes",
    [{}, {"precision": "mixed_bfloat16"}, {"replicas": 2, "accumulate": 3, "batch_size": 60}],
)
@pytest.mark.parametrize("gpu", [False, True])
def test_the_largest_batch_fits_and_the_next_does_not(changes: dict[str, Any], gpu: bool) -> None:
    run, memory = config(**changes), 6 * 10**9
    largest, parts = estimate.largest_batch(run, memory, on_gpu=gpu), run.replicas * run.accumulate
    assert largest % parts == 0
    fits, fails = (
        run.model_copy(update={"batch_size": size}) for size in (largest, largest + parts)
    )
    assert estimate.estimate(fits, on_gpu=gpu) <= memory < estimate.estimate(fails, on_gpu=gpu)


def test_no_batch_fits_into_less_than_the_process_takes() -> None:
    assert estimate.largest_batch(config(), 10**8) == 0
    assert estimate.largest_batch(config(), 2**60) == 65_536
    assert estimate.largest_batch(config(limit=1920), 2**60, 60_000) == 1920
    # a multiple of 6
    assert (
        estimate.largest_batch(config(batch_size=60, replicas=2, accumulate=3), 2**60, 1000) == 996
    )
    assert estimate.largest_batch(config(limit=64), 2**60, 50) == 50


@pytest.mark.parametrize(
    ("changes", "machine", "words"),
    [
        ({"batch_size": 8192}, CPU, ("batch_size=8192", "this machine has 4.0 GB")),
        ({"batch_size": 65_536}, GPUS, ("batch_size=65536", "the GPU has 6.9 GB")),
        ({"batch_size": 65_536, "replicas": 2}, GPUS, ("batch_size=65536", "each GPU has 6.9 GB")),
        # more replicas than GPUs: on CPU
        (
            {"batch_size": 65_536, "replicas": 4},
            GPUS,
            ("batch_size=65536", "this machine has 4.0 GB"),
        ),
        (
            {"batch_size": 8192, "replicas": 2, "strategy": "multi_worker"},
            CPU,
            ("batch_size=8192", "each of its 2 processes has 2.0 GB"),
        ),
    ],
)
def test_a_batch_that_cannot_fit_is_refused_with_one_that_would(
    changes: dict[str, Any], machine: dict[str, Any], words: tuple[str, ...]
) -> None:
    run = config(**changes)
    sentence = estimate.too_large(run, machine)
    assert sentence is not None
    assert all(word in sentence for word in words), sentence
    advised = {
        name: int(value)
        for name, value in re.findall(r"(batch_size|accumulate) to (\d+)", sentence)
    }
    assert set(advised) == {"batch_size", "accumulate"}, sentence
    for name, value in advised.items():
        assert estimate.too_large(Config(**{**changes, name: value}), machine) is None
    assert (
        estimate.too_large(
            Config(**{**changes, "batch_size": advised["batch_size"] + run.replicas}), machine
        )
        is not None
    )


def test_where_no_batch_fits_another_remedy_is_named() -> None:
    tiny = {**CPU, "memory_bytes": 10**8}
    assert str(estimate.too_large(config(), tiny)).endswith("use a machine with more memory.")
    assert str(estimate.too_large(config(replicas=2), tiny)).endswith("lower replicas.")


@pytest.mark.parametrize(
    "machine",
    [
        {"gpus": [{}] * 1024, "tpus": []},  # stands for any machine
        {"gpus": [None] * 1024, "tpus": []},
        {"gpus": [{"name": "a", "memory_bytes": None}], "tpus": []},  # NVML is missing
        {"gpus": [], "tpus": []},
    ],
)
def test_nothing_is_refused_where_the_memory_is_not_known(machine: dict[str, Any]) -> None:
    assert estimate.too_large(config(batch_size=65_536), machine) is None


def test_the_memory_of_a_tpu_is_not_known() -> None:
    assert estimate.available(config(strategy="tpu"), CPU) == 2**60
    assert estimate.available(config(), CPU) == 4 * 10**9
