"""`ganboard show --metric`: values of metrics and expressions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from tests.cli import document, ganboard, refused

MakeRun = Callable[..., Run]


def test_values_as_a_table_and_as_json(make_run: MakeRun) -> None:
    run = make_run("mine", epochs=10, quality_every=5)
    text = ganboard(
        "show", run.id, "--metric", "d_loss / g_loss", "--metric", "fid", "--over", "epoch"
    ).stdout
    assert "d_loss / g_loss over epoch: last " in text
    assert "20 of 40 values; --json has all." in text
    assert "fid over epoch: last 6.0000, smallest 6.0000, largest 10.0000; 2 values." in text
    (found,) = document("show", run.id, "--metric", "1 / (epoch - 5) * fid", "--over", "time")[
        "metrics"
    ]
    assert found["step"] == [20, 40]
    assert found["y"] == [None, pytest.approx(6 / 5)]
    assert found["x"][0].endswith("Z")
    assert found["notes"] == ["1 of 2 values is a gap: division by zero."]


def test_all_metrics_are_listed(make_run: MakeRun) -> None:
    run = make_run("mine", epochs=1)
    assert "Learning rate of G, as scheduled" in ganboard("show", run.id, "--metrics").stdout
    (first, *_) = document("show", run.id, "--metrics")["metrics"]
    assert first == {"metric": "g_loss", "stored": "step", "meaning": "Generator loss"}


def test_a_mistake_is_one_sentence(make_run: MakeRun) -> None:
    run = make_run("mine", epochs=1)
    assert "Did you mean g_loss" in refused("show", run.id, "--metric", "gloss")
    assert "'g_loss.real' is not allowed" in refused("show", run.id, "--metric", "g_loss.real")
    waiting = make_run("waiting", status="queued")
    assert "There is no metric 'g_loss'" in refused("show", waiting.id, "--metric", "g_loss")
