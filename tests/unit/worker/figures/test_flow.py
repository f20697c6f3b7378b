"""Figures of predicted flows."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.worker.figures import flow

FLOW: dict[str, Any] = {
    "l1": [0.1, 0.2],
    "held_l1": [0.2, 0.3],
    "rms": [0.1, 0.4],
    "held_rms": [0.2, 0.5],
    "mean_rms": [0.3, 0.3],
}


def test_errors_stand_beside_answers_that_need_no_network() -> None:
    kept = flow.errors({**FLOW, "horizon": 2}, "RMS")
    assert [trace.name for trace in kept.data] == ["Predicted", "First frame held", "Mean flow"]
    assert list(kept.data[0].x) == [1, 2]
    assert not kept.layout.shapes
    assert [shape.x0 for shape in flow.errors({**FLOW, "horizon": 1}, "RMS").layout.shapes] == [2]
    assert [trace.name for trace in flow.errors({**FLOW, "horizon": 1}, "L1").data] == [
        "Predicted",
        "First frame held",
    ]


def test_one_step_is_a_point() -> None:
    one = {name: values[:1] for name, values in FLOW.items()} | {"horizon": 1}
    assert {trace.mode for trace in flow.errors(one, "L1").data} == {"markers"}


def test_parts_of_a_frame_are_milliseconds() -> None:
    plot = flow.parts(
        {"steady": {"split": 0.001, "transfer": 0.002, "execute": 0.03, "merge": 0.004}}
    )
    assert [bar.x[0] for bar in plot.data] == pytest.approx([1, 2, 30, 4])
