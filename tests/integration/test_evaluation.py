"""Evaluations of stored checkpoints by real processes: the bits of those of training with settings
that hold for a whole process; by the command, and by an inference worker without Redis."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ganboard.db import requests
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.polling import wait_until
from tests.unit.worker.requests.test_inference_process import PATIENCE, process

pytestmark = [pytest.mark.slow, pytest.mark.thorough]
SMALL = (
    "dataset=digits",
    "epochs=2",
    "limit=32",
    "batch_size=16",
    "quality_images=200",
    "snapshots=0",
)
CASES = {"xla": ("xla=true",), "two replicas": ("replicas=2",)}


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
    found = queries.find_run(context.engine, run_id).facts
    return {name: found[name] for name in ("quality_features", "class_shares")}


@pytest.mark.parametrize("name", CASES)
def test_the_command_finds_the_bits_of_training(context: Context, name: str) -> None:
    settings = (*SMALL, *CASES[name])
    during = trained(*settings, "quality_every=1")
    without = trained(*settings)
    assert results(context, without) == {}
    [found] = ganboard("evaluate", without)["runs"]
    assert (found["error"], found["evaluated"]) == (None, [1, 2])
    assert results(context, without) == results(context, during)
    assert facts(context, without) == facts(context, during)


def test_an_inference_worker_evaluates_a_sweep(context: Context) -> None:
    runs = [trained(*SMALL, f"xla={xla}") for xla in ("false", "true")]
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
