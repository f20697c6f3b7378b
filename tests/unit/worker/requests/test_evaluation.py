"""Evaluations of stored checkpoints: the bits of those of training, stored beside them, and
refusals in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ganboard.db import requests
from ganboard.db.models import Request, Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from ganboard.worker.requests import analysis, loop
from tests.cli import document

MakeRun = Callable[..., Run]
SETTINGS = {
    "epochs": 2,
    "limit": 32,
    "batch_size": 16,
    "quality_images": 200,
    "keep_checkpoints": 2,
}


def trained(**changes: object) -> str:
    """The id of a run that was trained here."""
    settings = {**SETTINGS, **changes}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return str(document("train", "--preset", "tiny", *words)["id"])


def answered(context: Context, run_id: str) -> Request:
    asked = requests.ask(context.engine, requests.EVALUATION, [run_id], {})
    request = requests.claim(context.engine, requests.EVALUATIONS, asked)
    assert request is not None
    loop.answer(context, request, analysis.compute)
    stored = requests.find(context.engine, asked)
    assert stored is not None
    assert stored.answered_at is not None
    return stored


def results(context: Context, run_id: str) -> dict[int, tuple[dict[str, str], list[float]]]:
    """Metrics, with all bits, and class shares of each evaluated epoch."""
    return {
        one.epoch: (
            {name: value.hex() for name, value in one.measures.items()},
            one.histogram.tolist(),
        )
        for one in queries.qualities(context.engine, run_id)
    }


def facts(context: Context, run_id: str) -> dict[str, Any]:
    names = ("quality_features", "class_shares", "classifier_accuracy")
    found = queries.find_run(context.engine, run_id).facts
    return {name: found[name] for name in names}


@pytest.mark.parametrize("changes", [{}, {"ema": 0.9}], ids=["plain", "ema"])
def test_the_bits_are_those_of_training(context: Context, changes: dict[str, object]) -> None:
    during, without = trained(quality_every=1, **changes), trained(**changes)
    assert results(context, without) == {}
    found = answered(context, without)
    assert (found.error, found.facts["epochs"]) == (None, [1, 2])
    assert results(context, without) == results(context, during)
    assert facts(context, without) == facts(context, during)
