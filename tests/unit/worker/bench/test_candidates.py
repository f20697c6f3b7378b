"""Who takes part, and candidates as real processes that need no TensorFlow."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from ganboard.gan.bench.protocol import Task
from ganboard.gan.config import ConfigError
from ganboard.gan.settings import registry
from ganboard.worker.bench.candidates import (
    CANDIDATES,
    GROUPS,
    PRECISIONS,
    BenchmarkError,
    Candidate,
    Running,
    choose,
    has_peers,
    model_of_peers,
    peers_find_gan,
)
from ganboard.worker.cli import verify

BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}


def labels(only: list[str], precisions: list[str]) -> list[str]:
    return [candidate.label for candidate in choose(only, precisions, model_of_peers())]


def test_all_candidates_run_by_default() -> None:
    everyone = labels([], list(PRECISIONS))
    assert {
        "bare float32",
        "bare mixed_bfloat16",
        "floor mixed_bfloat16",
        "platform float32",
    } <= set(everyone)
    assert "platform mixed_bfloat16" not in everyone  # once is enough
    assert len(set(everyone)) == len(everyone)
    assert {label.split()[0] for label in everyone} == set(BY_NAME)


def test_groups_stand_for_their_members() -> None:
    assert labels(["pytorch"], ["float32"]) == [f"{name} float32" for name in GROUPS["pytorch"]]
    assert labels(["start", "tutorial"], ["mixed_bfloat16"]) == [
        "start mixed_bfloat16",
        "tutorial mixed_bfloat16",
    ]
    assert {name for names in GROUPS.values() for name in names} <= set(BY_NAME)


@pytest.mark.parametrize(
    ("only", "precision", "named"),
    [(["keras"], "float32", "'keras'"), ([], "fp8", "precision=fp8")],
)
def test_what_does_not_exist_is_refused_by_name(
    only: list[str], precision: str, named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        choose(only, [precision], model_of_peers())


def test_help_names_all() -> None:
    help_text = inspect.getdoc(verify.bench) or ""
    named = set(re.findall(r"[a-z]+[a-z0-9-]*", help_text))
    assert {*(each.name for each in CANDIDATES), *GROUPS} <= named


def test_other_frameworks_train_dcgan() -> None:
    assert model_of_peers() == "dcgan"
    assert {name for name in registry.models() if has_peers(name)} == {"dcgan", "gan3d", "pix2pix"}


def test_other_models_have_peers_too_and_pix2pix_nothing_to_recompute() -> None:
    showers, street = (
        {one.name: one for one in choose([], ["float32"], model)} for model in ("gan3d", "pix2pix")
    )
    assert set(showers) == {*GROUPS["ganboard"], "tutorial", *GROUPS["pytorch"]}
    assert set(street) == set(showers) - {"recompute"}
    assert showers["tutorial"].program("gan3d") == "ganboard.gan.models.gan3d.bench.tutorial"
    assert street["tutorial"].program("pix2pix") == "ganboard.gan.models.pix2pix.bench.tutorial"
    assert street["bare"].program("pix2pix") == "ganboard.gan.bench.ours"
    for name, model in (("jax", "gan3d"), ("tutorial", "convgan"), ("recompute", "pix2pix")):
        with pytest.raises(
            ConfigError,
            match=(
                f"^{name} does not support model={model}. Choose from bare, platform, xla, hash,"
                " fit, replicas, workers"
            ),
        ):
            choose([name], ["float32"], model)


def start(candidate: Candidate, folder: Path, python: str = sys.executable) -> Running:
    np.save(folder / "images.npy", np.zeros([8, 28, 28, 1], np.uint8))
    peers_find_gan(folder)
    return Running(
        replace(candidate, precision="float32", module=candidate.program(model_of_peers())),
        Task(4, "float32", str(folder / "images.npy")),
        python,
        folder,
    )


@pytest.mark.parametrize("name", ["pytorch-eager", "jax"])
def test_a_missing_framework_is_said_with_its_remedy(name: str, tmp_path: Path) -> None:
    framework = {"pytorch-eager": "torch", "jax": "jax"}[name]
    if importlib.util.find_spec(framework):
        pytest.skip(f"{framework} is installed here")
    running = start(BY_NAME[name], tmp_path)
    with pytest.raises(BenchmarkError, match=f"^not installed: pip install {framework}$"):
        running.first_step()
    running.end()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo out of luck >&2; exit 3", "failed: out of luck"),
        ("exit 3", "failed: exit code 3"),
        ("kill -KILL $$", "failed: ended by SIGKILL, as when memory runs out"),
    ],
)
def test_one_that_dies_is_left_out_with_its_reason(
    script: str, reason: str, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o700)
    running = start(BY_NAME["jax"], tmp_path, str(python))
    with pytest.raises(BenchmarkError) as refusal:
        running.first_step()
    assert str(refusal.value) == reason
    running.end()


def test_no_process_is_left(tmp_path: Path) -> None:
    before = set(psutil.Process().children(recursive=True))
    running = start(BY_NAME["tutorial"], tmp_path)
    assert set(psutil.Process().children(recursive=True)) - before
    running.end()
    assert not set(psutil.Process().children(recursive=True)) - before
