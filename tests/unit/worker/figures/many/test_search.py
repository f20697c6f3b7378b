"""Figures of a search."""

from __future__ import annotations

import pytest

from ganboard.worker.figures.many import search
from ganboard.worker.figures.many.search import Dot

DOTS = [
    Dot(0, "<b>one</b>", "finished", 5.0, {"rate": 1e-4, "batch": 32}),
    Dot(1, "two", "pruned", 9.0, {"rate": 1e-3, "batch": 64}),
    Dot(2, "three", "finished", 7.0, {"rate": 1e-5, "batch": 32}),
    Dot(3, "four", "finished", 4.0, {"rate": 2e-4, "batch": 64}),
    Dot(4, "five", "running", 6.0, {"rate": 3e-4, "batch": 32}),
]


@pytest.mark.parametrize(("maximize", "best"), [(False, [5, 5, 4]), (True, [5, 7, 7])])
def test_by_trial_marks_pruned_ones_and_follows_the_best(maximize: bool, best: list[float]) -> None:
    plot = search.by_trial(DOTS, objective="Best FID", maximize=maximize)
    traces = {trace.uid: trace for trace in plot.data}
    assert list(traces) == ["finished", "pruned", "other", "best"]
    assert list(traces["pruned"].x) == [1]
    assert list(traces["best"].y) == best
    assert traces["finished"].text[0] == "Trial 0: &lt;b&gt;one&lt;/b&gt;<br>finished"


def test_without_finished_trials_nothing_is_best() -> None:
    plot = search.by_trial(DOTS[1:2], objective="Best FID", maximize=False)
    assert [trace.uid for trace in plot.data] == ["pruned"]


def test_slices_place_wide_ranges_by_their_logarithm() -> None:
    plot = search.slice_of(DOTS, "rate", label="G learning rate", objective="Best FID")
    finished = next(trace for trace in plot.data if trace.uid == "finished")
    assert list(finished.x) == pytest.approx([-4, -5, -3.69897])
    plot = search.slice_of(DOTS, "batch", label="Batch", objective="Best FID")
    assert list(plot.layout.xaxis.ticktext) == ["32", "64"]


def test_importance_has_the_largest_on_top() -> None:
    plot = search.importance({"rate": 0.9, "batch": 0.1}, labels={"rate": "G <rate>"})
    assert list(plot.data[0].y) == ["batch", "G &lt;rate&gt;"]
