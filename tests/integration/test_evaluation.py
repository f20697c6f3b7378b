"""Evaluations of stored checkpoints by real processes: the bits of those of training, whatever the
model and the way of computing it; by the command, and by an inference worker without Redis."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ganboard.db import requests
from ganboard.db.runs import queries
from ganboard.gan.models.pix2pix.flow import frames
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording
from ganboard.worker.context import Context
from ganboard.worker.scaffold import scaffold
from tests.polling import wait_until
from tests.unit.worker.requests.test_inference_process import PATIENCE, process

pytestmark = [pytest.mark.slow, pytest.mark.thorough]
SMALL = ("epochs=2", "limit=32", "batch_size=16", "quality_images=200", "snapshots=0")
FLOW = ("model=pix2pix", "dataset=flow", "images_path=street", "geometry=64x64", "batch_size=4")
SHOWERS = ("model=gan3d", "dataset=showers", "geometry=25x25x25", "batch_size=8")
CASES = {
    "xla": ("dataset=digits", "xla=true"),
    "two replicas": ("dataset=digits", "replicas=2"),
    "bfloat16": ("dataset=digits", "precision=mixed_bfloat16", "ema=0.9"),
    "encoder": ("dataset=digits", "quality_features=encoder"),
    "cdcgan": ("model=cdcgan", "dataset=digits"),
    "own model": ("model=mine", "dataset=digits"),
    "flow": FLOW,
    "showers": SHOWERS,
}


def ganboard(*words: str) -> Any:
    """The document of a command in a process of its own."""
    command = [str(Path(sys.executable).with_name("ganboard")), *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def trained(*settings: str) -> str:
    return str(ganboard("train", *(word for one in settings for word in ("--set", one)))["id"])


def results(context: Context, run_id: str) -> dict[int, Any]:
    """All bits of each evaluation."""
    return {
        one.epoch: (
            {name: value.hex() for name, value in one.measures.items()},
            one.histogram.tolist(),
        )
        for one in queries.qualities(context.engine, run_id)
    }


def facts(context: Context, run_id: str) -> dict[str, Any]:
    names = ("quality_features", "class_shares", "encoder_accuracy", "validation")
    found = queries.find_run(context.engine, run_id).facts
    return {name: found[name] for name in names if name in found}


@pytest.mark.parametrize("name", CASES)
def test_the_command_finds_the_bits_of_training(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name == "own model":
        monkeypatch.setenv("GANBOARD_MODELS", str(scaffold.model("mine", tmp_path)))
    if name == "flow":
        cases = (Case(Obstacle("circle", 6), 60), Case(Obstacle("rectangle", 6), 60, held_out=True))
        street = Recording(cases, (64, 64), frames=9, discard=20, every=5)
        frames.write(context.settings.data / "street", street)
    settings = (*SMALL, *CASES[name])
    during = trained(*settings, "quality_every=1")
    without = trained(*settings)
    assert results(context, without) == {}
    [found] = ganboard("evaluate", without)["runs"]
    assert (found["error"], found["evaluated"]) == (None, [1, 2])
    assert results(context, without) == results(context, during)
    assert facts(context, without) == facts(context, during)


def test_an_inference_worker_evaluates_a_sweep(context: Context) -> None:
    runs = [trained(*SMALL, "dataset=digits", f"xla={xla}") for xla in ("false", "true")]
    for run_id in runs:
        requests.ask(context.engine, requests.EVALUATION, [run_id], {})

    def answered() -> bool:
        found = requests.newest_evaluations(context.engine, runs)
        return all(found[run_id].answered_at is not None for run_id in runs)

    with process():
        wait_until(answered, seconds=2 * PATIENCE, what="both evaluations")
    for run_id in runs:
        found = requests.newest_evaluations(context.engine, [run_id])[run_id]
        assert (found.error, found.facts["epochs"], found.tries) == (None, [1, 2], 1)
        newest = queries.events(context.engine, run_id)[0].text
        assert newest == "Evaluated on request, from the checkpoint of epoch 2."
