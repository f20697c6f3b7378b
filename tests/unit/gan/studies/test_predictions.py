"""Predictions of published figures: their arithmetic on made-up steps, and the stored ones."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.gan.studies import predictions, published
from ganboard.gan.studies.predictions import CONSISTENT, INCONSISTENT, NOT_PREDICTED

MS = 1e-3


def test_a_host_that_takes_all_the_time_saves_what_the_steps_are_fewer() -> None:
    device = {64: 0.0, 512: 0.0}
    assert predictions.reduction(device, 1.0, 64, 512) == pytest.approx(7 / 8)


def test_a_step_that_grows_with_its_batch_saves_nothing() -> None:
    device = {64: 1 * MS, 512: 8 * MS}
    assert predictions.reduction(device, 0.0, 64, 512) == pytest.approx(0.0)


def test_the_needed_host_time_gives_the_claimed_share() -> None:
    device = {64: 0.3 * MS, 512: 2.4 * MS}
    host = predictions.needed_host(device, 0.79, 64, 512)
    assert host > 0
    assert predictions.reduction(device, host, 64, 512) == pytest.approx(0.79)


def stored(monkeypatch: pytest.MonkeyPatch, *cells: tuple[str, str, int, float]) -> None:
    rows = [
        {
            "model": model,
            "target": target,
            "batch": batch,
            "compiles": True,
            "computing_seconds": seconds,
            "exchange_seconds": 0.0,
        }
        for model, target, batch, seconds in cells
    ]
    found = {"compiled_by": ["a compiler"], "date": "2026-01-01", "cells": rows}
    monkeypatch.setattr(predictions, "document", lambda: found)


def dcgan(target: str, per_image: float) -> list[tuple[str, str, int, float]]:
    return [("dcgan", target, batch, per_image * batch) for batch in published.BATCHES]


def test_a_claim_within_reach_of_the_host_is_consistent(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, *dcgan("v3-8", 2e-6), *dcgan("v2-8", 3e-6), *dcgan("v3-1", 2e-5))
    made = predictions.fig5()
    assert made.verdict == CONSISTENT
    assert "79.0 % needs a host time of" in made.finding
    assert predictions.fig6().verdict == CONSISTENT


def test_a_claim_out_of_reach_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, *dcgan("v3-8", 1.0), *dcgan("v2-8", 1.0), *dcgan("v3-1", 1.0))
    assert predictions.fig5().verdict == INCONSISTENT  # the host is nothing beside such a device
    assert predictions.fig13().verdict == INCONSISTENT  # eight cores save nothing
    assert "no host time gives 24.6 %" in predictions.fig13().finding


def test_what_was_not_compiled_is_not_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch)
    made: dict[str, Any] = {name: predictions.of(name) for name in predictions.BY_FIGURE}
    assert {one.verdict for one in made.values()} == {NOT_PREDICTED}
    assert predictions.of("fig7") is None


def test_the_stored_steps_are_those_of_the_published_tables() -> None:
    kept = {
        (cell["model"], cell["target"], cell["batch"]) for cell in predictions.document()["cells"]
    }
    assert kept == {(cell.model, cell.target.name, cell.batch) for cell in published.cells()}


def test_a_larger_batch_takes_longer_on_the_device_and_eight_cores_less_than_one() -> None:
    for target in ("v2-8", "v3-8", "v2-1", "v3-1"):
        times = [seconds for _, seconds in sorted(predictions.steps("dcgan", target).items())]
        assert times == sorted(times)
    alone, eight = predictions.steps("dcgan", "v3-1"), predictions.steps("dcgan", "v3-8")
    assert all(eight[batch] < alone[batch] for batch in (128, 256, 512))


def test_every_prediction_says_from_what_it_was_obtained() -> None:
    assert "Nothing was run on a TPU" in predictions.source()
    made = [predictions.of(name) for name in predictions.BY_FIGURE]
    assert all(one and one.finding for one in made)
